"""The one style and the one script of the site that tools/site makes."""

STYLE = """:root{color-scheme:light dark;--fg:#1c2024;--bg:#fff;--soft:#f4f5f7;--line:#d8dce2;--link:#0b57a4;
--dim:#59636e}
@media (prefers-color-scheme:dark){:root{--fg:#dfe3e8;--bg:#15181c;--soft:#1e2329;--line:#343b44;--link:#7db5f5;
--dim:#98a3af}}
*{box-sizing:border-box}
body{margin:0;color:var(--fg);background:var(--bg);font:16px/1.55 system-ui,sans-serif;display:grid;
grid-template:auto 1fr/17rem minmax(0,1fr)}
header{grid-column:1/-1;display:flex;gap:1rem;align-items:center;justify-content:space-between;padding:.5rem 1rem;
border-bottom:1px solid var(--line)}
header a{font-size:1.2rem;text-decoration:none}
nav{padding:1rem;border-right:1px solid var(--line);font-size:.92rem}
nav ul{list-style:none;margin:0 0 .6rem;padding-left:.8rem}
nav summary{font-weight:600;cursor:pointer}
nav [aria-current]{font-weight:700}
main{padding:1rem 2rem 4rem;max-width:60rem;min-width:0;overflow-wrap:anywhere}
img{max-width:100%;height:auto}
a{color:var(--link)}
h1,h2,h3{line-height:1.25}
h2{border-top:1px solid var(--line);padding-top:.8rem;margin-top:2rem}
h2 small{color:var(--dim);font-weight:400;font-size:.7em}
code,pre{font-family:ui-monospace,monospace;font-size:.9em}
pre{background:var(--soft);padding:.7rem;overflow-x:auto;border-radius:4px}
:not(pre)>code{background:var(--soft);padding:.1em .25em;border-radius:3px;overflow-wrap:anywhere}
table{border-collapse:collapse;display:block;overflow-x:auto;overflow-wrap:normal}
td,th{border:1px solid var(--line);padding:.25rem .5rem;text-align:left;vertical-align:top}
.at{color:var(--dim);font-size:.85rem;margin:.2rem 0 .8rem}
.source a{color:var(--dim);text-decoration:none}
.skip{position:absolute;left:-99rem}.skip:focus{left:1rem}
#found{position:absolute;right:1rem;top:3.2rem;z-index:1;margin:0;padding:.5rem 1rem;list-style:none;max-width:92vw;
width:34rem;max-height:70vh;overflow:auto;background:var(--bg);border:1px solid var(--line);border-radius:4px}
#found a{display:block;padding:.2rem 0;text-decoration:none}#found small{color:var(--dim)}
@media (max-width:50rem){body{display:flex;flex-direction:column}main{padding:1rem}
nav{order:2;border-right:0;border-top:1px solid var(--line)}}
@media print{nav,header{display:none}}
"""

SCRIPT = """'use strict';
(() => {
  const up = document.body.dataset.up, places = [];
  let page = '', title = '';
  for (const line of (INDEX).split('\\n')) {
    const [at, words] = line.split('\\t');
    if (at[0] !== '#') { page = at; title = words; places.push([words, page, '']); }
    else places.push([words ?? at.slice(1), page + at, title]);
  }
  const label = document.getElementById('search'), input = label.querySelector('input');
  const found = document.getElementById('found');
  label.hidden = false;
  const rank = (name, asked) => {
    const at = name.toLowerCase().indexOf(asked);
    if (at < 0) return Infinity;
    const begins = at === 0 || /[^a-z0-9]/i.test(name[at - 1]);
    return (begins ? 0 : 100) + (at > 0 ? 20 : 0) + name.length - asked.length;
  };
  const show = () => {
    const asked = input.value.trim().toLowerCase();
    found.replaceChildren();
    if (asked) {
      const best = places.map(p => [rank(p[0], asked), p]).filter(p => p[0] < Infinity)
        .sort((a, b) => a[0] - b[0]).slice(0, 30);
      for (const [, [name, to, where]] of best) {
        const a = document.createElement('a'), small = document.createElement('small');
        a.href = up + to; a.textContent = name + ' '; small.textContent = where;
        a.append(small);
        const li = document.createElement('li');
        li.append(a); found.append(li);
      }
      if (!best.length) found.append(Object.assign(document.createElement('li'), {textContent: 'Nothing is found.'}));
    }
    found.hidden = !asked;
  };
  input.addEventListener('input', show);
  document.addEventListener('keydown', e => {
    if (e.key === '/' && document.activeElement !== input) { e.preventDefault(); input.focus(); }
    if (e.key === 'Escape') { input.value = ''; show(); }
    if ((e.key === 'ArrowDown' || e.key === 'ArrowUp') && !found.hidden) {
      const links = [...found.querySelectorAll('a')], now = links.indexOf(document.activeElement);
      const next = e.key === 'ArrowDown' ? Math.min(now + 1, links.length - 1) : now - 1;
      (next < 0 ? input : links[next])?.focus(); e.preventDefault();
    }
    if (e.key === 'Enter' && document.activeElement === input) found.querySelector('a')?.click();
  });
})();
"""
