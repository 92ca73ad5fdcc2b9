import { mkdtempSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { rm } from 'node:fs/promises'
import { renderMarkdown } from '../../../../scripts/docs/render-markdown.ts'

/** Renders the Markdown of a page in a folder with these files. */
function render(
  markdown: string,
  { name = 'test', files = {} }: { name?: string; files?: Record<string, string> } = {},
) {
  const folder = mkdtempSync(path.join(tmpdir(), 'waxwing-docs-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(path.join(folder, path.dirname(file)), { recursive: true })
    writeFileSync(path.join(folder, file), content)
  }
  const names = new Set(['pagination', 'jobs/first', name])
  const at = `/docs/guides/${name}`
  return renderMarkdown(markdown, {
    name,
    path: at,
    section: 'Guides',
    names,
    folder: pathToFileURL(`${folder}/`),
  })
}

describe('a page', () => {
  test.each([
    ['a <b>bold</b> word', '<p>a &lt;b&gt;bold&lt;/b&gt; word</p>\n'],
    ['<script>1</script>\n', '&lt;script&gt;1&lt;/script&gt;\n'],
    ['```text\n<b>\n```', '<pre tabindex="0"><code>&lt;b&gt;</code></pre>\n'],
    [
      '```json\n{"a": "<b>"}\n```',
      '<pre tabindex="0"><code><span class="hljs-punctuation">{</span><span class="hljs-attr">&quot;a&quot;</span><span class="hljs-punctuation">:</span> <span class="hljs-string">&quot;&lt;b&gt;&quot;</span><span class="hljs-punctuation">}</span></code></pre>\n',
    ],
    ['[pages](pagination.md#cursors)', '<p><a href="/docs/guides/pagination#cursors">pages</a></p>\n'],
    ['[a job](jobs/first.md)', '<p><a href="/docs/jobs/first">a job</a></p>\n'],
    [
      '[a reason](/docs/reference/reasons#overloaded)',
      '<p><a href="/docs/reference/reasons#overloaded">a reason</a></p>\n',
    ],
    [
      '[the document](../packages/contract/openapi.json)',
      '<p><a href="/v1/openapi.json">the document</a></p>\n',
    ],
    ['[a decision](decisions/0010-stored-messages.md)', '<p>a decision</p>\n'],
    ['[a script](javascript:alert)', '<p>a script</p>\n'],
    ['![an image](https://elsewhere.example/x.png)', '<p>an image</p>\n'],
    ['![no such image](none.svg)', '<p>no such image</p>\n'],
    [
      '## Where: `it` & "that"',
      '<h2 id="where-it--that">Where: <code>it</code> &amp; &quot;that&quot;</h2>\n',
    ],
  ])('renders %j', (markdown, html) => {
    expect(render(markdown).content).toBe(html)
  })

  test('of a job leads to pages of the folder above, also as Markdown', () => {
    const page = render('See [pages](../pagination.md#cursors).\n\n```\n[x](../pagination.md)\n```\n', {
      name: 'jobs/second',
    })
    expect(page.content).toContain('<a href="/docs/guides/pagination#cursors">')
    expect(page.markdown).toContain('See [pages](/docs/guides/pagination.md#cursors).')
    expect(page.markdown).toContain('[x](../pagination.md)')
  })

  test('shows drawings of its folder', () => {
    const page = render('![A send](send.svg)', { files: { 'send.svg': '<svg/>' } })
    expect(page.content).toBe('<p><img src="/docs/images/send.svg" alt="A send"></p>\n')
    expect([...(page.images ?? [])]).toEqual([['/docs/images/send.svg', '<svg/>']])
  })

  test('leads to the named rows of its tables', () => {
    const page = render(
      '# Settings\n\n| Setting | |\n|---|---|\n| `WAXWING_PORT` | The port |\n| `1` | one |\n',
    )
    expect(page.content).toContain('<tr id="WAXWING_PORT">')
    expect(page.entries).toContainEqual({
      anchor: 'WAXWING_PORT',
      title: 'WAXWING_PORT',
      names: 'WAXWING_PORT',
      text: 'The port',
      kind: 'setting',
    })
  })
})

describe('an example that a page includes', () => {
  const files = {
    'examples/first/list.sh': 'curl http://127.0.0.1:8025/v1/accounts',
    'examples/first/list.ts': 'for await (const one of list()) console.log(one)',
    'examples/first/list.out': '1 <account>',
  }

  test('has a block for each language, and what it prints', () => {
    const { content } = render('@include first/list', { files })
    expect([...content.matchAll(/data-language-of="(\w+)"/g)].map(([, name]) => name)).toEqual([
      'curl',
      'node',
    ])
    expect(content).toContain('1 &lt;account&gt;')
  })

  test('is in the Markdown, too', () => {
    expect(render('@include first/list', { files }).markdown).toBe(
      [
        '```bash\ncurl http://127.0.0.1:8025/v1/accounts\n```',
        '```typescript\nfor await (const one of list()) console.log(one)\n```',
        'It prints:',
        '```\n1 <account>\n```',
      ].join('\n\n'),
    )
  })

  test('must exist', () => {
    expect(() => render('@include first/none', { files })).toThrow(
      'There is no example docs/examples/first/none',
    )
  })
})
