import { expect, test, vi } from 'vitest'
import { htmlToText, htmlToTextSteps } from './html-to-text.ts'

test.each([
  ['', ''],
  ['plain', 'plain'],
  ['<p>a</p><p></p><p>b</p>', 'a\n\nb'],
  ['<div>a</div><div>b<div>c</div></div>d', 'a\nb\nc\nd'],
  ['a<br>b<br/><br>c', 'a\nb\n\nc'],
  ['  a \n <i>b</i>c&nbsp;d &amp; e', 'a bc d & e'],
  ['<style>p{}</style><title>t</title>a<!-- no -->b<script>x</script>', 'ab'],
  ['<a href="https://x.example/?a=1&amp;b=2">here</a>.', 'here (https://x.example/?a=1&b=2).'],
  ["<a href='https://x.example/'>https://x.example</a>", 'https://x.example'],
  ['<a href=mailto:ada@example.com>ada@example.com</a>', 'ada@example.com'],
  ['<a href="javascript:alert(1)">x</a>', 'x'],
  ['<ul><li>a<li><p>b</p><ol><li>c</li><li>d</li></ol></ul>e', '- a\n- b\n  1. c\n  2. d\n\ne'],
  ['<ul><li></li><li>x</ul>', '- \n- x'],
  [
    '<blockquote><p>a</p><p>b<br>c</p><blockquote>d</blockquote></blockquote>e',
    '> a\n>\n> b\n> c\n>\n> > d\n\ne',
  ],
  ['<table><tr><th>a</th><td>b</td></tr><tr><td>c</td></tr></table>', 'a b\nc'],
  ['a<hr>b', `a\n\n${'-'.repeat(20)}\n\nb`],
  ['<pre>a\n  b\n</pre>c', 'a\n  b\n\nc'],
  ['<img alt="Logo" src="cid:x"> 1 < 2', 'Logo 1 < 2'],
  ['a<p', 'a'],
])('writes %j as text', (html, text) => {
  expect(htmlToText(html)).toBe(text)
})

test('bounds the indent of what is nested deep', () => {
  expect(htmlToText('<blockquote>x'.repeat(2000)).length).toBeLessThan(2000 * 60)
  expect(htmlToText('<ul><li>x'.repeat(2000)).length).toBeLessThan(2000 * 60)
})

const LENGTH = 1_000_000
const fill = (piece: string) => piece.repeat(LENGTH / piece.length)

test.each([
  ['<', 100],
  ['word ', 100],
  ['&amp;', 100],
  ['<p>', 1000],
  ['<a href="https://example.com/">x</a>', 200],
  ['<pre>x\n', 500],
])('reads a million characters of %j in steps', (piece, stepsMin) => {
  let count = 0
  for (const _ of htmlToTextSteps(fill(piece))) count++
  expect(count).toBeGreaterThanOrEqual(stepsMin)
})

test('does not cut text within a reference or a line end', () => {
  for (let length = 8150; length < 8200; length++) {
    const before = 'x'.repeat(length)
    expect(htmlToText(`${before}&amp;&#128512;y`)).toBe(`${before}&\u{1f600}y`)
    expect(htmlToText(`<pre>${before}\r\ny</pre>`)).toBe(`${before}\ny`)
  }
})

test('looks at no more of a line than its end, however many links it has', () => {
  const html = '<a href="https://example.com/">x</a>'.repeat(5_000)
  using join = vi.spyOn(Array.prototype, 'join')
  htmlToText(html)
  const joined = join.mock.results.reduce((sum, { value }) => sum + String(value).length, 0)
  expect(joined).toBeLessThan(10 * html.length)
})
