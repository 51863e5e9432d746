# The symbols of libbora.so: those of namespace bora that programs may use, and none of what the standard library or
# others make of them. A version script can show names and cannot take some of them away again, so it shows every name
# that differs from those of BORA_HIDDEN at some letter.

# Beginnings of hidden names of namespace bora: what only the library itself uses, and what the templates of public
# headers make again in a program that needs it.
set(BORA_HIDDEN exec:: json:: kernels:: ops:: transport:: registered_primitive rules_of fields::name fx::Propagation
  generate::rows:: generate::grammar:: generate::Grammar::State generate::Grammars::State generate::Row::
  generate::choosing_steps job::PairEncoder job::read_pairs
  named_index:: named_text:: KernelTimes:: NoOthers TypesOnly param_rules::kind param_rules::detail:: nn::added
  nn::sample data::ByteReader data::check_memory data::Chunk data::Folder data::Holder data::JsonCursor
  data::JsonProblem data::Lock data::print_line data::ranks_here data::RecordReader
  data::tables:: read_npy_header detail::alone_in_crowd
  detail::crowd_is_over detail::Team detail::waited_for_threads io::BlockReader io::run_jobs io::pieces
  io::Trade io::Files io::PartHere io::parts_here io::unnamed_parts_here io::name_part io::adopt_manifest
  io::verify_part io::verify_files io::gather_checkpoint io::receive_copies io::copies_at_hand io::bytes_of_store
  io::hosts_note io::seen_order io::next_order io::order_of io::manifest_file io::file_sizes io::files_in
  io::where_others_are training::find_stores training::stores_ training::settle_checkpoints training::newest_step
  training::find_on_hosts training::remove_old_signs training::host_name
  io::blocks_of io::summed_blocks io::saving:: job::check_group job::common_settings job::ground_of
  job::mappings_of job::placement_rules job::transport_of job::kept_below linalg::Reflection mcmc::core::
  models::expect_window
  models::T5 models::Bert models::EncoderHead models::FolderTensors models::Quantised
  models::initial models::PackedLeaf models::write_packed models::write_all_packed models::weights_of
  models::packed_sources models::write_quantization text::jinja:: text::Jinja text::AddedTokens
  text::Charsmap text::WordPiece text::Merges text::PreTokenizer text::UnigramModel text::WordCache text::in_valid
  training::Run::
  training::first_not_finite training::write_ training::Saves training::Background training::HeldState
  training::hold training::state_now training::commit_all training::look_after_folder training::Room
  training::plan_kept_step training::checkpoint_bytes StreamedFile free_bytes training::Monitor training::Alarms
  training::SlowRanks
  training::RankNumbers training::Predictions training::AlertCommand training::message_of training::status_of
  training::median
  training::name_of training::computed_since_last
  training::leaf_histograms training::monitor_hook product_rate process_counters track::RunLog track::LossPlot
  track::Sketch track::each_point Memo:: detail::listed_cache fx::is_
  fx::Equation fx::Ivp:: fx::RungeKutta fx::adjoint fx::all_steps fx::flags fx::polynomial_at fx::repeated fx::tableau
  random::Fine
  random::bounded_loggamma random::contracted random::draw_bits random::draw_shape random::exact_truncated_normal
  random::floating random::neighbour random::next_after random::one_key random::rounded random::tiny random::value_of
  serve:: gguf:: models::Gguf models::gguf fx::flat_fn fx::scan_slices fx::Checkpointed fx::Jitted
  text::part_of_character output_of training::AtOnce
  io::compare_checkpoints io::look_at_checkpoints io::metrics_note io::pin_checkpoint io::read_boxes io::removable
  io::remove_checkpoint io::rescue_pinned io::restore_slots io::retain io::unpin_checkpoint io::why_they_stay
  job::best_kept job::check_initial job::fills_all job::keep_of_run job::read_init_from
  training::CheckpointSettings::most training::CheckpointSettings::needs_evaluations training::InitialPlan
  training::Retention training::add_retention_notes training::initial_place training::keep_of training::load_initial
  training::plan_initial
  config::Members config::detail::members_of base64_of inline_hash track::page:: training::PageSettings::check
  generate::engine:: generate::Engine::State)
# Names in those namespaces that public headers declare, and the table of passes, which the command prints.
set(BORA_SHOWN param_rules::detail::no_fields exec::option_of exec::passes exec::scope_of serve::Reply
  serve::Service::answer serve::Serving serve::error_body serve::model_of serve::write_texts transport::Context
  transport::JoinTimeout transport::RankLost transport::Work transport::check_options transport::check_wire
  transport::clock_offset transport::config_from_environment transport::dump_on_sigusr2 transport::explain
  transport::forecast transport::join transport::local transport::measure transport::with_options
  transport::write_trace)

# Sets `out` to the patterns of all names that begin with none of `hidden`.
function(bora_all_but out)
  set(beginnings "")
  foreach(name ${ARGN})
    string(LENGTH ${name} length)
    math(EXPR last "${length} - 1")
    foreach(i RANGE 6 ${last})   # behind bora::
      string(SUBSTRING ${name} 0 ${i} beginning)
      list(APPEND beginnings ${beginning})
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES beginnings)
  set(patterns "")
  foreach(beginning ${beginnings})
    string(LENGTH ${beginning} length)
    set(letters "")
    foreach(name ${ARGN})
      string(FIND ${name} ${beginning} at)
      if(at EQUAL 0 AND NOT name STREQUAL beginning)
        string(SUBSTRING ${name} ${length} 1 letter)
        string(APPEND letters ${letter})
      endif()
    endforeach()
    if(beginning MATCHES "[^:]:$")
      continue()   # a name has two colons or none
    endif()
    set(others "^${letters}")
    if(letters MATCHES ":")   # GNU ld takes no single colon: the name of a namespace with more letters behind it
      string(REGEX REPLACE "[${letters}]" "" others "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
    endif()
    list(APPEND patterns "${beginning}[${others}]*")
  endforeach()
  set(${out} ${patterns} PARENT_SCOPE)
endfunction()

# Writes the version script: symbols have the version of the library's soname.
function(bora_export_map file)
  list(TRANSFORM BORA_HIDDEN PREPEND bora:: OUTPUT_VARIABLE hidden)
  bora_all_but(patterns ${hidden})
  foreach(name ${BORA_SHOWN})
    list(APPEND patterns "bora::${name}*")
  endforeach()
  set(lines "")
  foreach(kind "" typeinfo?for? typeinfo?name?for? vtable?for? guard?variable?for?)
    foreach(pattern ${patterns})
      string(APPEND lines "      ${kind}${pattern};\n")
    endforeach()
  endforeach()
  # A function template's name begins with its result: these are compiled in the library.
  string(APPEND lines "      void?bora::detail::*;\n")
  set(names "  global:\n    extern \"C++\" {\n${lines}    };\n  local: *;\n")
  file(CONFIGURE OUTPUT ${file} CONTENT "BORA_${BORA_ABI} {\n${names}};\n" @ONLY)
endfunction()
