import { expect, test } from 'vitest'
import { openTemplates } from './compile.ts'
import { compileFields, renderTemplate } from './render.ts'

function toHtml(source: string, x: string): string | null {
  const fields = { subject: null, html: source, text: null, previewText: null, format: 'markdown' } as const
  const compiled = compileFields(openTemplates(), fields, () => undefined)
  if ('failure' in compiled) throw new Error(compiled.message)
  const rendered = renderTemplate(compiled, { x }, () => undefined)
  if ('failure' in rendered) throw new Error(rendered.message)
  return rendered.html
}

test.each([
  ['Hi {{x}}!', '<p>Hi |!</p>\n'],
  ['**{{x}}** _{{x}}_', '<p><strong>|</strong> <em>|</em></p>\n'],
  ['[{{x}}](https://a.test/{{x}} "{{x}}")', '<p><a href="https://a.test/|" title="|">|</a></p>\n'],
  ['![{{x}}](cid:{{x}} "{{x}}")', '<p><img src="cid:|" alt="|" title="|"></p>\n'],
  ['`{{x}}`', '<p><code>|</code></p>\n'],
  ['```\n{{x}}\n```', '<pre><code>|\n</code></pre>\n'],
])('a value is written with all its characters in %j', (source, expected) => {
  for (const x of ['Ann😀', '👩‍👩‍👧🏽', '🇩🇪✔️№', '𝒳𠮷\u{10fffd}€—']) {
    const decoded = toHtml(source, x)!.replaceAll(/&#0*(\d+);/g, (_, code: string) =>
      String.fromCodePoint(Number(code)),
    )
    expect(decoded).toBe(expected.replaceAll('|', x))
  }
})

test('a long reference of the author in code fails nothing', () => {
  expect(toHtml('`&#009999999;` {{x}}', 'y')).toBe('<p><code>&amp;#009999999;</code> y</p>\n')
})
