#!/usr/bin/env python3
"""Writes jinja.json beside this script: templates with their variables, and what jinja2 makes of them with the settings
of Hugging Face's `transformers` (its apply_chat_template); null where jinja2 raises an error. jinja2 3.1.6.

    make_jinja.py"""
import datetime
import json
import pathlib

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_said"), [], [], body).set_lineno(line)

    def _said(self, caller):
        return caller()


def environment():
    e = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    e.filters["tojson"] = tojson
    e.globals["raise_exception"] = raise_exception
    noon = datetime.datetime.fromtimestamp(1700000000, datetime.timezone.utc)
    e.globals["strftime_now"] = noon.strftime
    return e


VARIABLES = {
    "s": " a B\tc\u00e9\n", "e": "", "n": 7, "m": -3, "x": 2.5, "t": True, "f": False, "z": None,
    "l": [3, 1, 2], "w": ["b", "A", "c", "a"], "d": {"b": 1, "a": [1, "two", None], "items": 5},
    "o": [{"k": "x", "v": 2, "in": {"p": 1}}, {"k": "Y", "v": 1}, {"k": "x", "v": 3}],
    "q": "it's \"q\" \\ \u4f60\u597d \U0001f600", "big": 10 ** 15, "tiny": 1e-7, "huge": 1e16,
}
EXPRESSIONS = """
s|trim; s.strip(); s.strip(' a'); s.lstrip(); s.rstrip(); s|upper; s|lower; s|title; s|capitalize; s|length; q|length
s.split(); s.split('B'); 'a,b,,c'.split(','); 'a,b,,c'.split(',', 1); 'a,b,,c'.rsplit(',', 1)
' a  b c '.split(None, 1); 'a\\nb\\r\\nc'.splitlines(); 'abc'.startswith('ab'); 'abc'.startswith(('x', 'a'))
'abc'.endswith('c'); 'abcabc'.find('c'); 'abcabc'.rfind('c'); 'abcabc'.count('b'); 'abc'.replace('b', 'XX')
'aaa'.replace('a', 'b', 2); 'abc'|replace('', '-'); 'x'.join(w); w|join(', '); o|map(attribute='k')|join('-')
w|map('upper')|list; w|first; w|last; l|sum; o|sum('v'); l|sort; l|sort(reverse=true); w|sort
w|sort(case_sensitive=true); o|sort(attribute='v')|map(attribute='v')|list; l|max; l|min; w|max
o|map(attribute='v')|min; w|unique|list; o|map(attribute='k')|unique|list; l|reverse|list; 'abc'|reverse; d|dictsort
d.items()|list; d.keys()|list; d.values()|list; d.b; d['b']; d['items']; d.get('q'); d.get('q', 4); d|length; d|tojson
d|tojson(indent=2); o|tojson; q|tojson; x|tojson; l|tojson(separators=(',', ':')); d|tojson(sort_keys=true); q; [q]
{'a': q}; l; d; (1,); (1, 'b'); []; {}; t; f; z; x; n; big; tiny; huge; 1.0; 100000.0 * 10; 1/3; 7/2; 7//2; -7//2
-7 % 3; 7 % -3; 7.5 % 2; 2**10; 2**-1; 2*3+4; 2+3*4; -2**2; n - m; n ~ m; 'a' ~ 1 ~ none; 'ab' * 3; [1] * 2; [1] + [2]
n > 3 and m < 0; not t; n == 7.0; '7' == 7; 1 < 2 < 3; 3 < 2 < 1; 'a' in 'abc'; 'z' not in 'abc'; 1 in l; 'b' in d
5 not in l; z is none; missing is defined; missing is undefined; n is defined; n is number; s is string; d is mapping
l is sequence; l is iterable; n is odd; n is even; n is divisibleby 7; n is divisibleby(2); s is sequence; t is true
f is false; t is boolean; n is integer; x is float; n is eq 7; n is gt 3; n is in [7]; 'a' is lower; 'A' is upper
missing; missing|default('d'); e|default('d'); e|default('d', true); none|default('d'); missing.attribute; missing[0]
d.none_here; d.none_here.more; l[0]; l[-1]; l[7]; l[1:]; l[:-1]; l[::-1]; l[::2]; q[:4]; q[-2:]; s[1]; q[-1]; l[5:]
'abc'[::-1]; 'yes' if t else 'no'; 'yes' if f; ('a' if f else 'b') ~ 'c'; l|length > 2 and 'long' or 'short'
[1, 2, 3]|select('odd')|list; l|reject('eq', 1)|list; o|selectattr('k', 'equalto', 'x')|list|length
o|rejectattr('in')|map(attribute='v')|list; o|selectattr('in.p')|list|length; o|map(attribute='in.p', default=0)|list
o|groupby('k')|map('first')|list; range(3)|list; range(1, 10, 4)|list; range(3, 0, -1)|list; dict(a=1, b=2)
dict({'a': 1}, a=3); 'a b'|wordcount; -5|abs; 3.7|int; '12'|int; ' 12 '|int; 'x'|int; 'x'|int(5); '0x1f'|int(0, 16)
'3.9'|int; '2.5'|float; 'x'|float; 2.5|round; 3.5|round; 2.345|round(2); 2.1|round(method='ceil')
'a\\nb\\n\\nc'|indent; 'a\\nb'|indent(2, true); 'a\\n\\nb'|indent(2, blank=true); '<a&b>'|e; n|string ~ 1
[1, 2, 3, 4, 5]|batch(2)|list; [1, 2, 3]|batch(2, 0)|list; s|list|length; 'a-b'.title(); "o'neil (x) a-b"|title
"o'neil x".title(); 'isnt'.isalpha(); '12'.isdigit(); 'a1'.isalnum(); '{} and {}'.format(1, 'b')
'{1}{0}{x}'.format(1, 2, x=3); "it's"; 'a' 'b'; "\\u00e9\\x41\\t."; 'ABC'.lower(); 'straSSe'.upper(); '\u00dfa'|title
'abc'.removeprefix('a'); 'abc'.removesuffix('c'); l.index(2); l.count(3); l.append(4); d.update({}); missing(); n()
'a' + 1; 1 + none; 1 // 0; missing + 1; l|frobnicate; n is frobnicated; raise_exception('no')
strftime_now('%d %B %Y, %H:%M'); [1, [2, ('x',)]]; {'a': {'b': none}}; '%' ~ '}}'; '}}' ~ '{%'; {'a': {}}; 1_000; 1e3
1.5e-3; none == missing; [] == (); true == 1; [1, 2] < [1, 3]; 'a' < 'b'; 'a' < 1; (t, f)|select|list
none|map('upper')|list; e|list; ''|first; [none, '', 0]|reject|list
""".strip()
BLOCKS = [
    '{% for i in l %}'
    '{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.first }}{{ loop.last }}{{ i }};{% endfor %}',
    '{% for i in [] %}x{% else %}none{% endfor %}',
    '{% for k, v in d.items() %}{{ k }}={{ v }} {% endfor %}',
    '{% for i in l if i > 1 %}{{ loop.index }}:{{ i }}/{{ loop.length }} {% endfor %}',
    '{% for i in l %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}{% if loop.index == 3 %}'
    '{% break %}{% endif %}{% endfor %}',
    '{% for i in l %}{{ loop.previtem }}|{{ loop.nextitem }};{% endfor %}',
    "{% for i in l %}{{ loop.cycle('a', 'b') }}{% endfor %}",
    '{% for i in o %}{% if loop.changed(i.k) %}{{ i.k }}{% endif %}{% endfor %}',
    '{% set y = 1 %}{% for i in l %}{% set y = i %}{% endfor %}{{ y }}',
    '{% set ns = namespace(y=0) %}{% for i in l %}{% set ns.y = ns.y + i %}{% endfor %}{{ ns.y }}',
    '{% set a, b = 1, [2] %}{{ a }}{{ b }}',
    '{% set a %}x{{ n }}{% endset %}{{ a }}!',
    '{% set a | upper %}x{{ n }}{% endset %}{{ a }}',
    '{% macro f(a, b=2) %}{{ a }}-{{ b }};{% endmacro %}{{ f(1) }}{{ f(1, b=3) }}{{ f(b=1, a=2) }}{{ f() }}',
    '{% macro f(a) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, c=3) }}',
    '{% macro f() %}[{{ caller() }}]{% endmacro %}{% call f() %}in {{ n }}{% endcall %}',
    '{% macro f() %}{{ caller(5) }}{% endmacro %}{% call(x) f() %}{{ x + n }}{% endcall %}',
    '{% macro f(k) %}{% if k %}{{ k }}{{ f(k - 1) }}{% endif %}{% endmacro %}{{ f(5) }}',
    '{% set g = 4 %}{% macro f() %}{{ g }}{% endmacro %}{{ f() }}{% set g = 5 %}{{ f() }}',
    "{% filter upper | replace('A', 'o') %}a{{ n }}b{% endfilter %}",
    '{% with a = 1, b = n %}{{ a }}{{ b }}{% endwith %}{{ a }}',
    '{% if f %}1{% elif n > 3 %}2{% else %}3{% endif %}',
    '{% if missing %}1{% endif %}{% if not missing %}2{% endif %}',
    'a\n  {% if t %}\n  b\n  {% endif %}\nc\n',
    'a\n  {%- if t %}\n  b\n  {%- endif -%}\n\n c\n\n',
    '  {{ n }}  \n {# comment #}\n x {#- y -#}\n z',
    '{%+ if t %} a{% endif +%}\nb',
    '{% raw %}{{ x }}{% endraw %}{{ n }}',
    ' {%- raw -%}  {% if %} {%- endraw -%}  z',
    'a\r\nb\r{{ n }}\r\n',
    '{{ n }}\n',
    '{{ n }}\n\n',
    '{% generation %}a{{ n }}{% endgeneration %}b',
    '{% for i in [[1, [2]], 3] recursive %}{{ loop(i) if i is iterable else i }}{{ loop.depth }}{% endfor %}',
    '{{ \'{{\' }}{{ "}}" }}',
    "{% set j = joiner('+') %}{% for i in l %}{{ j() }}{{ i }}{% endfor %}",
    "{% for c in 'ab你' %}{{ c }},{% endfor %}",
    '{% for i in n %}{% endfor %}',
    '{% for i in none %}{% endfor %}',
    '{% for i in missing %}x{% else %}y{% endfor %}',
    '{% if %}',
    '{% for %}{% endfor %}',
    '{{ n',
    '{{ }}',
    '{% unknown %}',
    '{% endif %}',
    '{% if t %}',
    '{{ (1 }}',
    '{% set l.x = 1 %}',
    '{% set ns = namespace() %}{% set ns.a = 1 %}{{ ns.a }}{{ ns.b }}{{ ns.b is defined }}',
    '{% break %}',
    '{{ n n }}',
    "{{ 'a }}",
    '{% set x = n if f else m %}{{ x }}',
    "{% for m in o %}{%- if m.k == 'x' -%}  {{ m.v }}{%- else %}, {% endif -%} {% endfor %}",
    "{% set x = {'a': 1, 'b': [1, 2]} %}{{ x.b[1] }}{{ x['a'] }}{{ x.c is not defined }}",
    "{{ not f and t }}{{ not (t and f) }}{{ t or f and f }}{{ f or none }}{{ '' or [] }}",
    '{% if l[0] == 3 and (l[1] != 3 or false) %}a{% endif %}',
    "{{ {1: 'a', 'b': 2}[1] }}",
    '{{ l is defined and l is not none and l|length > 0 }}',
]


def main():
    e = environment()
    templates = ["{{ " + x.strip() + " }}" for line in EXPRESSIONS.split("\n") for x in line.split("; ")] + BLOCKS
    cases = []
    for template in templates:
        try:
            text = e.from_string(template).render(**VARIABLES)
        except Exception:   # of any kind: an error it must be
            text = None
        cases.append([template, text])
    where = pathlib.Path(__file__).with_name("jinja.json")
    lines = ",\n  ".join(json.dumps(c, ensure_ascii=False) for c in cases)
    where.write_text('{"jinja2": "%s", "variables":\n  %s,\n "cases": [\n  %s]}\n'
                     % (jinja2.__version__, json.dumps(VARIABLES, ensure_ascii=False), lines), encoding="utf-8")
    print(len(cases), "cases,", sum(c[1] is None for c in cases), "errors")


if __name__ == "__main__":
    main()
