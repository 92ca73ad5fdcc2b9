import type { RenderedTemplate, Template } from '@waxwing/contract/sending/templates.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTestApp, type TestApp } from '../open-app.ts'
import { sampleAccount } from '../sample-rows.ts'

let app: TestApp
let account: { id: string; email: string }
let unnamed: { id: string; email: string }
beforeAll(async () => {
  app = await openTestApp()
  const connect = async (displayName: string | null) => {
    const { id } = await sampleAccount(app.db, app.tenantId, { display_name: displayName })
    return { id, email: `${id}@example.com` }
  }
  account = await connect('Ada <Lovelace>')
  unnamed = await connect(null)
})
afterAll(() => app[Symbol.asyncDispose]())

const UNKNOWN = '01a1fc15-0c9b-7d0a-a4f7-3f5b1c2d9e22'
const post = (body: object) => app.post<RenderedTemplate>('/v1/template-renders', body)

async function rendered(body: object): Promise<RenderedTemplate> {
  const answer = await post(body)
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
  return answer.body
}

async function store(body: object): Promise<string> {
  const answer = await app.post<Template>('/v1/templates', { name: `template ${Math.random()}`, ...body })
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
  return answer.body.id
}

const HIDDEN =
  '<div style="display:none;font-size:1px;line-height:1px;max-height:0;max-width:0;opacity:0;overflow:hidden;mso-hide:all">'

describe('a render', () => {
  test('escapes values in html and previewText, not in subject and text', async () => {
    const source = '{{params.x}} {{{params.x}}}'
    const x = `<b>"it's" & =\`</b>`
    const escaped = '&lt;b&gt;&quot;it&#x27;s&quot; &amp; &#x3D;&#x60;&lt;/b&gt;'
    const fields = { subject: source, html: source, text: source, previewText: null }
    expect(await rendered({ ...fields, params: { x } })).toEqual({
      subject: `${x} ${x}`,
      text: `${x} ${x}`,
      html: `${escaped} ${x}`,
      previewText: null,
    })
    const { html, previewText } = await rendered({ html: '<p>', previewText: source, params: { x } })
    expect(previewText).toBe(`${escaped} ${x}`)
    expect(html).toBe(
      `${HIDDEN}${escaped} ${x.replace('<b>', '&lt;b&gt;').replace('</b>', '&lt;/b&gt;')}</div><p>`,
    )
  })

  test.each([
    ['<p>x</p>', `|<p>x</p>`],
    [
      '<!doctype html><html><head><title>a<body></title></head><body class="x">y',
      '<!doctype html><html><head><title>a<body></title></head><body class="x">|y',
    ],
    ['<!-- <body> --><BODY\n>y</BODY>', '<!-- <body> --><BODY\n>|y</BODY>'],
    ['<html><head></head><p>', '<html><head></head>|<p>'],
    ['a < b', '|a < b'],
    ['', '|'],
  ])('puts the preview at the top of the body: %j', async (source, expected) => {
    const { html } = await rendered({ html: source, previewText: 'Tom & $& <3' })
    expect(html).toBe(expected.replace('|', () => `${HIDDEN}Tom & $& &lt;3</div>`))
  })

  test('has the helpers, and nothing where a value is missing', async () => {
    const params = {
      list: ['a', 'b'],
      people: [
        { name: 'Ada', tags: ['x', 'y'] },
        { name: 'Bob', tags: [] },
      ],
      by: { one: 1, two: 2 },
      key: 'two',
      zero: 0,
    }
    const show = async (text: string) => (await rendered({ text, params })).text
    expect(await show('{{#each params.list}}{{@index}}{{@first}}{{@last}}{{this}};{{/each}}')).toBe(
      '0truefalsea;1falsetrueb;',
    )
    expect(await show('{{#each params.by}}{{@key}}={{this}};{{/each}}')).toBe('one=1;two=2;')
    expect(await show('{{#each params.none}}x{{else}}none{{/each}}')).toBe('none')
    expect(
      await show(
        '{{#each params.people as |p|}}{{#each p.tags}}{{p.name}}/{{../../key}}{{this}} {{/each}}{{/each}}',
      ),
    ).toBe('Ada/x Ada/y ')
    expect(
      await show('{{#with params.by}}{{one}}{{two}}{{/with}}{{#with params.none}}{{else}}-{{/with}}'),
    ).toBe('12-')
    expect(await show('{{#if params.zero}}a{{else if params.list}}b{{else}}c{{/if}}')).toBe('b')
    expect(
      await show('{{#if params.zero includeZero=true}}a{{/if}}{{#unless params.zero}}b{{/unless}}'),
    ).toBe('ab')
    expect(await show('{{lookup params.by params.key}}{{#if (lookup params.list 5)}}x{{/if}}')).toBe('2')
    expect(await show('{{#params.list}}{{this}}{{/params.list}}{{^params.none}}!{{/params.none}}')).toBe(
      'ab!',
    )
    expect(
      await show('[{{params.none}}{{params.none.deep}}{{none}}{{{none}}}{{rcpt.address}}{{@none}}]'),
    ).toBe('[]')
    expect(await show('{{params.zero}} {{params.list}} {{params.list.length}} {{params.by}}')).toBe(
      '0 a,b 2 [object Object]',
    )
    expect(await show('{{! comment }}\\{{params.zero}} {{~params.zero~}} .')).toBe('{{params.zero}}0.')
  })

  test('uses the account that is named, else that of the template, else none', async () => {
    const text = '{{account.email}}|{{account.name}}|{{rcpt.unsubscribeUrl}}{{rcpt.address}}{{rcpt.name}}'
    expect((await rendered({ text })).text).toBe('||')
    expect((await rendered({ text, accountId: account.id })).text).toBe(`${account.email}|Ada <Lovelace>|`)
    expect((await rendered({ text, accountId: unnamed.id })).text).toBe(`${unnamed.email}||`)
    const own = await store({ text, accountId: unnamed.id })
    expect((await rendered({ templateId: own })).text).toBe(`${unnamed.email}||`)
    const shared = await store({ text })
    expect((await rendered({ templateId: shared })).text).toBe('||')
    expect((await rendered({ templateId: shared, accountId: account.id })).text).toBe(
      `${account.email}|Ada <Lovelace>|`,
    )
    expect(await post({ templateId: own, accountId: account.id })).toMatchObject({
      status: 400,
      body: { code: 'template_account_mismatch' },
    })
  })

  test('puts subject and preview on one line', async () => {
    const { subject, previewText } = await rendered({
      subject: '{{params.x}}',
      previewText: '{{params.x}}',
      params: { x: 'a\r\nBcc: b\tc\u0085d' },
    })
    expect([subject, previewText]).toEqual(['a Bcc: b c d', 'a Bcc: b c d'])
  })

  test('never cuts a character in two', async () => {
    expect(
      await rendered({
        subject: '{{lookup params.x 0}}',
        text: '{{lookup params.x 0}}',
        params: { x: '😀' },
      }),
    ).toMatchObject({ subject: '\ufffd', text: '\ufffd' })
  })

  test('of nothing is nothing', async () => {
    expect(await rendered({})).toEqual({ subject: null, html: null, text: null, previewText: null })
    expect(await rendered({ previewText: 'x' })).toMatchObject({ html: null, previewText: 'x' })
    expect(await rendered({ html: '', text: '', subject: '' })).toMatchObject({
      html: '',
      text: '',
      subject: '',
    })
  })

  test.each<[string, object, number, string]>([
    ['a template that there is not', { templateId: UNKNOWN }, 422, 'unknown_template'],
    ['an account that there is not', { accountId: UNKNOWN }, 422, 'unknown_account'],
    ['a template beside a field', { templateId: UNKNOWN, text: '' }, 400, 'template_and_inline_fields'],
    [
      'a template beside a format',
      { templateId: UNKNOWN, format: 'html' },
      400,
      'template_and_inline_fields',
    ],
    ['a field that does not compile', { text: '{{#if}}' }, 400, 'invalid_template'],
    ['parameters that are no object', { params: [] }, 400, 'invalid_input'],
    ['a syntax tree', { html: { type: 'Program', body: [] } }, 400, 'invalid_input'],
    ['parameters over 256 KB', { params: { x: 'x'.repeat(262_137) } }, 400, 'params_too_large'],
    [
      'parameters over 256 KB in UTF-8',
      { params: { x: 'ü'.repeat(131_068) + 'x' } },
      400,
      'params_too_large',
    ],
  ])('is refused with %s', async (_, body, status, code) => {
    expect(await post(body)).toMatchObject({ status, body: { code } })
  })

  test('takes parameters of 256 KB, however short their values are', async () => {
    const params = { x: Array.from({ length: 131_068 }, () => 1) }
    expect((await rendered({ text: '{{params.x.length}}', params })).text).toBe('131068')
    expect((await rendered({ text: '{{params.x.length}}', params: { x: 'x'.repeat(262_136) } })).text).toBe(
      '262136',
    )
    expect((await rendered({ text: '{{params.x.length}}', params: { x: 'ü'.repeat(131_068) } })).text).toBe(
      '131068',
    )
  })

  test('is refused for the template of another tenant', async () => {
    const tenant = await app.createTenant('another')
    const templateId = await store({ text: 'secret' })
    expect(await tenant.post('/v1/template-renders', { templateId })).toMatchObject({
      status: 422,
      body: { code: 'unknown_template' },
    })
  })
})

describe('a render of Markdown', () => {
  const markdown = (html: string, params: object = {}) => rendered({ format: 'markdown', html, params })

  test('is HTML, and text where there is none', async () => {
    const source = '# Hello {{params.name}}\n\n- [x] *one*\n- two\n\n| a | b |\n|---|---|\n| ~~1~~ | 2 |\n'
    const { html, text } = await markdown(source, { name: 'A*d*a' })
    expect(html).toContain('<h1>Hello A*d*a</h1>')
    for (const part of ['<li>☑ <em>one</em></li>', '<th>a</th>', '<td><del>1</del></td>'])
      expect(html).toContain(part)
    expect(text).toBe(source.replace('{{params.name}}', 'A*d*a'))
    expect((await rendered({ format: 'markdown', html: '*x*', text: 'own' })).text).toBe('own')
    expect((await rendered({ html: '<p>x</p>' })).text).toBeNull()
  })

  test('takes values as text, wherever they stand', async () => {
    const value =
      '*a* _b_ [c](https://x.example) `d` <i>e</i> | # f\n\n# g\n\n    h\n- i https://y.example www.z.example'
    for (const source of [
      '{{params.x}}',
      '# {{params.x}}',
      '- {{params.x}}',
      '> {{params.x}}',
      '**{{params.x}}**',
    ]) {
      const { html } = await markdown(source, { x: value })
      const { html: plain } = await markdown(source, { x: 'word' })
      const tagsOf = (of: string | null) => of?.match(/<[^>]*>/g)
      expect(tagsOf(html)).toEqual(tagsOf(plain))
    }
    const { html } = await markdown('`{{params.x}}`\n\n    {{params.x}}\n', { x: 'a*b <c>' })
    expect(html).toBe('<p><code>a*b &lt;c&gt;</code></p>\n<pre><code>a*b &lt;c&gt;\n</code></pre>\n')
  })

  test('takes values in targets of links, and {{{…}}} as Markdown', async () => {
    const { html } = await markdown('[Pay]({{params.url}}) {{{params.md}}}', {
      url: 'https://pay.example/a_(b)?x=1&y=*2*',
      md: '**bold**',
    })
    expect(html).toBe(
      '<p><a href="https://pay.example/a_(b)?x&#x3D;1&amp;y&#x3D;*2*">Pay</a> <strong>bold</strong></p>\n',
    )
  })

  test.each([
    ['<script>alert(1)</script>', '&lt;script&gt;alert(1)&lt;/script&gt;'],
    ['a <b>bold</b> <!-- c -->', '<p>a &lt;b&gt;bold&lt;/b&gt; &lt;!-- c --&gt;</p>'],
    ['[x](javascript:alert(1))', '<p>x</p>'],
    ['[x](JaVa&#115;cript&#58;alert(1))', '<p>x</p>'],
    ['[x](java\\&#115;cript:alert(1))', '<p>x</p>'],
    ['[x](&#1;javascript:alert(1))', '<p>x</p>'],
    ['[x](data:text/html,y)', '<p>x</p>'],
    ['[x](vbscript:y)', '<p>x</p>'],
    ['<javascript:alert(1)>', '<p>javascript:alert(1)</p>'],
    ['![x](data:image/png;base64,AA)', '<p>x</p>'],
    ['![x](cid:logo)', '<p><img src="cid:logo" alt="x"></p>'],
    ['[x](mailto:a@b.example)', '<p><a href="mailto:a@b.example">x</a></p>'],
    ['[x](#top "t\\"q")', '<p><a href="#top" title="t&quot;q">x</a></p>'],
  ])('of %j has no HTML and no other targets', async (source, expected) => {
    expect((await markdown(source)).html?.trim()).toContain(expected)
  })
})

describe('a bound of a render', () => {
  const numbers = (count: number) => Array.from({ length: count }, (_, at) => at)
  const fails = (field: string) => ({
    status: 400,
    body: { code: 'template_render_failed', data: { field } },
  })

  test('is 10,000 iterations in all fields together', async () => {
    const text = '{{#each params.a}}x{{/each}}'
    expect((await post({ text, params: { a: numbers(10_000) } })).status).toBe(200)
    expect(await post({ text, params: { a: numbers(10_001) } })).toMatchObject(fails('text'))
    expect(await post({ text, html: text, params: { a: numbers(5001) } })).toMatchObject(fails('html'))
    expect((await post({ format: 'markdown', html: text, params: { a: numbers(10_000) } })).status).toBe(200)
    const cube = '{{#each params.a}}{{#each ../params.a}}{{#each ../../params.a}}x{{/each}}{{/each}}{{/each}}'
    expect(await post({ subject: cube, params: { a: numbers(100) } })).toMatchObject(fails('subject'))
  })

  test('is 2,000 characters of subject and preview', async () => {
    for (const field of ['subject', 'previewText']) {
      const source = { [field]: '{{params.x}}' }
      expect((await post({ ...source, params: { x: '😀'.repeat(2000) } })).status).toBe(200)
      expect(await post({ ...source, params: { x: 'x'.repeat(2001) } })).toMatchObject(fails(field))
    }
  })

  test('is 2 MiB of html and text', async () => {
    const params = { x: 'x'.repeat(200_000) }
    for (const field of ['html', 'text']) {
      expect((await post({ [field]: '{{params.x}}'.repeat(10), params })).status).toBe(200)
      for (const source of ['{{params.x}}', '{{{params.x}}}', '{{#each params}}{{this}}{{/each}}'])
        expect(await post({ [field]: source.repeat(11), params })).toMatchObject(fails(field))
    }
  })

  test('is 50 levels', async () => {
    const nested = (levels: number) => `${'{{#if params}}'.repeat(levels)}x${'{{/if}}'.repeat(levels)}`
    expect((await rendered({ text: nested(50) })).text).toBe('x')
    expect(await post({ text: nested(51) })).toMatchObject(fails('text'))
    const chain = `{{#if a}}${'{{else if a}}'.repeat(100)}{{else}}x{{/if}}`
    expect((await rendered({ text: chain })).text).toBe('x')
  })

  test('is 100,000 characters of Markdown', async () => {
    const of = (length: number) => ({
      format: 'markdown',
      html: '{{params.x}}',
      params: { x: 'x'.repeat(length) },
    })
    expect((await post(of(100_000))).status).toBe(200)
    expect(await post(of(100_001))).toMatchObject(fails('html'))
    expect((await post({ html: 'x'.repeat(100_001) })).status).toBe(200)
  })
})
