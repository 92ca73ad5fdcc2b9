import fc from '../../../test/property.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readVariables } from './compile.ts'
import { openRenderer, type Renderer } from './renderer.ts'
import type { Rendered, RenderFailure, TemplateFields } from './template.ts'

let renderer: Renderer
/** Gives up sooner, so that the tests are quick. */
let hasty: Renderer
beforeAll(() => {
  renderer = openRenderer()
  hasty = openRenderer({ workMsMax: 300 })
})
afterAll(() => Promise.all([renderer[Symbol.asyncDispose](), hasty[Symbol.asyncDispose]()]))

const fieldsOf = (fields: Partial<TemplateFields>): TemplateFields => ({
  subject: null,
  html: null,
  text: null,
  previewText: null,
  format: 'html',
  ...fields,
})

async function render(
  fields: Partial<TemplateFields>,
  params: unknown = {},
  by = renderer,
): Promise<Rendered | RenderFailure> {
  const json = typeof params === 'string' ? params : JSON.stringify(params)
  const [result] = await by.render('a', fieldsOf(fields), [`{"params":${json},"account":{},"rcpt":{}}`])
  return result!
}

const textOf = async (text: string, params?: unknown, by = renderer) => {
  const result = await render({ text }, params, by)
  return 'failure' in result ? result : result.text
}

/** From published advisories on Handlebars and on other template engines, and of our own. */
const REACHING = [
  '{{constructor}}{{this.constructor}}{{params.constructor}}{{params.x.constructor.constructor}}',
  '{{__proto__}}{{params.__proto__}}{{params.x.__proto__.constructor}}{{params.[__proto__].[constructor]}}',
  '{{lookup params "constructor"}}{{lookup (lookup params.x "constructor") "constructor"}}',
  '{{lookup params "__proto__"}}{{lookup params "__defineGetter__"}}{{lookup params.list "map"}}',
  '{{lookup params.x "sub"}}{{lookup params.x.sub "constructor"}}{{lookup params (lookup params "name")}}',
  '{{#with params.x}}{{constructor}}{{split}}{{toString}}{{#with split as |codelist|}}{{codelist}}{{/with}}{{/with}}',
  '{{#each params}}{{@root.constructor}}{{../constructor}}{{@constructor}}{{@root.__proto__}}{{/each}}',
  '{{#with "s" as |string|}}{{#with "e"}}{{#with split as |c|}}{{c.pop}}{{c.push}}{{/with}}{{/with}}{{/with}}',
  '{{#with (lookup params.x "constructor") as |c|}}{{c.name}}{{/with}}',
  '{{@partial-block}}{{@root.process}}{{process}}{{process.env.PATH}}{{global}}{{globalThis}}{{require}}{{env}}',
  '{{params.toString}}{{params.hasOwnProperty}}{{params.list.constructor}}{{params.list.join}}{{params.valueOf}}',
  '{{#each params.list.constructor}}x{{/each}}{{#params.constructor}}x{{/params.constructor}}',
]

describe('a hostile template', () => {
  test.each(REACHING)('reaches nothing but its values: %s', async source => {
    const params = { x: 'abc', list: [1], name: 'constructor', y: { z: 1 } }
    const result = await textOf(source, params)
    expect(typeof result === 'string' ? result.trim() : result).toBe('')
    expect(Object.prototype).not.toHaveProperty('polluted')
  })

  test.each([
    [
      '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
      '{{polluted}}{{params.polluted}}',
      '',
    ],
    [
      '{"type":"Program","body":[{"type":"MustacheStatement"}]}',
      '{{params}}{{params.type}}',
      '[object Object]Program',
    ],
    [
      '{"x":{"toHTML":"y","toString":"z","call":"c","apply":"d"}}',
      '{{params.x.toHTML}}{{params.x.toString}}',
      'yz',
    ],
    ['{"length":5,"list":{"length":3}}', '{{#each params.list}}{{this}};{{/each}}', '3;'],
    [
      '{"a":{"b":[null,true,false,0,1e400,"",[],{}]}}',
      '{{#each params.a.b}}[{{this}}]{{/each}}',
      '[][true][false][0][Infinity][][][[object Object]]',
    ],
  ])('gets values as they are: %s', async (json, source, expected) => {
    expect(await textOf(source, json)).toBe(expected)
  })

  test('gets values without the prototypes of JavaScript', () => {
    const { params } = readVariables('{"params":{"__proto__":{"a":1},"list":[{}]}}') as { params: object }
    expect(Object.getOwnPropertyNames(params)).toEqual(['__proto__', 'list'])
    for (const value of [params, (params as { list: object[] }).list[0]!]) {
      const chain: unknown[] = []
      for (let at: unknown = value; at !== null; at = Object.getPrototypeOf(at)) chain.push(at)
      expect(chain).not.toContain(Object.prototype)
      expect('constructor' in value).toBe(false)
    }
  })

  test('is refused for values that cannot be written', async () => {
    expect(await textOf('{{params.x}}', '{"x":{"toString":"z"}}')).toMatchObject({
      failure: 'bound',
      field: 'text',
    })
  })

  test.each([
    [
      'loops within loops',
      '{{#each params.l}}{{#each ../params.l}}{{#each ../../params.l}}x{{/each}}{{/each}}{{/each}}',
    ],
    [
      'a loop over itself',
      '{{#each params.l}}{{#each @root.params.l}}{{#each @root.params.l}}{{/each}}{{/each}}{{/each}}',
    ],
    [
      'sections within sections',
      '{{#params.l}}{{#params.l}}x{{/params.l}}{{#@root.params.l}}{{#@root.params.l}}x{{/@root.params.l}}{{/@root.params.l}}{{/params.l}}',
    ],
    ['a long value in a loop', '{{#each params.l}}{{@root.params.x}}{{@root.params.x}}{{/each}}'],
    ['a long raw value in a loop', '{{#each params.l}}{{{@root.params.x}}}{{{@root.params.x}}}{{/each}}'],
    ['a long text in a loop', `{{#each params.l}}${'x'.repeat(100_000)}{{/each}}`],
    ['many long values', '{{params.x}}'.repeat(1000)],
    ['51 levels', `${'{{#if params}}'.repeat(51)}${'{{/if}}'.repeat(51)}`],
    ['51 levels of expressions', `{{lookup ${'(lookup '.repeat(51)}a${' a)'.repeat(51)} a}}`],
  ])('with %s ends at its bound', async (_, text) => {
    const params = { l: Array.from({ length: 110 }, (_none, at) => at), x: 'x'.repeat(100_000) }
    expect(await textOf(text, params)).toMatchObject({ failure: 'bound', field: 'text' })
    expect(await textOf('{{params.x}}', { x: 'after' })).toBe('after')
  })

  test('that writes without end is stopped on the way', async () => {
    const text = '{{#each params.l}}{{#each ../params.l}}{{@root.params.x}}{{/each}}{{/each}}'
    const params = { l: Array.from({ length: 99 }, (_, at) => at), x: '<'.repeat(200_000) }
    const failure = { failure: 'bound', message: 'renders more than 2 MiB' }
    expect(await render({ html: text }, params)).toMatchObject(failure)
  })

  // Templates that take longest in the parser and the compiler, each a megabyte.
  test.each([
    ['{{#each a}}', ''],
    ['{{#each a}}', '{{/each}}'],
    ['{{#if a}}x{{/if}}', ''],
    ['{{a}}', ''],
    ['{{lookup a (lookup b c)}}', ''],
    ['{{{', ''],
    ['{{', ''],
    ['{{!', ''],
    ['{{a.', ''],
    ['\\{{', ''],
    ['{{#if a}}x{{else ', ''],
    ['{{{{a}}}}', ''],
    ['{{"', ''],
    ['{{~', ''],
    [' \n', '{{a}}'],
  ])('of %j by the megabyte costs its bound', async (begin, end) => {
    const times = Math.floor(1_000_000 / (begin.length + end.length))
    const source = begin.repeat(times) + end.repeat(times)
    const failure = await hasty.check('a', fieldsOf({ html: source }))
    if (failure) expect(failure).toMatchObject({ failure: 'invalid', field: 'html' })
    expect(await textOf('{{params.x}}', { x: 'after' }, hasty)).toBe('after')
  })

  test.each([
    '[',
    '![',
    '[a](',
    '[a][',
    '[]()',
    '*a**b',
    '**a_',
    '*a ',
    '_',
    '`',
    '``a',
    '> ',
    '> - ',
    '- ',
    '1. ',
    '<',
    '<!--',
    '<a href="',
    '&',
    '&#',
    'a@b.',
    'http://',
    'www.',
    '(',
    '\\',
    '~',
    '|',
    '|-',
    '# ',
    '\n',
    '    ',
    '\t',
    '[a]: b\n',
    '[^',
    'a\n===\n',
    '```\n',
  ])('of Markdown with %j 100,000 times costs its bound', async sign => {
    const html = sign.repeat(Math.floor(100_000 / sign.length))
    const result = await render({ format: 'markdown', html }, {}, hasty)
    if ('failure' in result) expect(result).toMatchObject({ failure: 'bound', field: 'html' })
    expect(await textOf('{{params.x}}', { x: 'after' }, hasty)).toBe('after')
  })
})

describe('values in any text', () => {
  const seeds = { seed: 4711, numRuns: 200 }
  const anyText = fc.string({ unit: fc.constantFrom(...'ab <>&"\'`=*_~[](){}#-+|\\!:/.\n\t$@%^1é😀') })
  const tagsOf = (html: string | null) => html?.match(/<[a-z/][^>]*>/g) ?? []
  const SOURCES = [
    '{{params.x}}',
    '# {{params.x}}',
    '- {{params.x}}\n- b',
    '**{{params.x}}**',
    '| a |\n|---|\n| {{params.x}} |',
    '[{{params.x}}](https://x.example)',
    '`{{params.x}}`',
    '    {{params.x}}',
    '> {{params.x}}',
    '{{params.x}}. b',
  ]

  test('are never markup, in Markdown or HTML', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, fc.constantFrom(...SOURCES), async (x, source) => {
        const tags = async (value: string) => {
          const results = await Promise.all([
            render({ format: 'markdown', html: source }, { x: value }),
            render({ html: `<p>${source}</p>`, previewText: source }, { x: value }),
          ])
          return results.map(result => ('failure' in result ? result : tagsOf(result.html)))
        }
        // An empty value leaves no paragraph.
        expect(await tags(`w${x}`)).toEqual(await tags('word'))
      }),
      seeds,
    )
  })

  test('are the text of Markdown, as they are', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, async x => {
        expect(await render({ format: 'markdown', html: 'a {{params.x}} b' }, { x })).toMatchObject({
          text: `a ${x} b`,
        })
      }),
      seeds,
    )
  })
})

describe('any template', () => {
  const path = fc.constantFrom(
    'params.a',
    'params.b',
    'params.l',
    'this',
    '../x',
    '@index',
    '@root.params',
    'account.name',
  )
  const { source } = fc.letrec<{ source: string; piece: string }>(tie => ({
    source: fc.array(tie('piece'), { maxLength: 4 }).map(pieces => pieces.join('')),
    piece: fc.oneof(
      { depthSize: 'medium' },
      fc.constantFrom('x', ' ', '<b>', '\n', '\\{{a}}', '{{!c}}'),
      path.map(of => `{{${of}}}`),
      path.map(of => `{{{${of}}}}`),
      fc.tuple(path, path).map(([a, b]) => `{{lookup ${a} ${b}}}`),
      fc
        .tuple(fc.constantFrom('each', 'if', 'unless', 'with'), path, tie('source'), tie('source'))
        .map(([name, of, body, other]) => `{{#${name} ${of}}}${body}{{else}}${other}{{/${name}}}`),
    ),
  }))

  test('renders within the bounds, or fails at its field', async () => {
    const value = fc.jsonValue({ maxDepth: 4 })
    await fc.assert(
      fc.asyncProperty(source, value, value, fc.array(value), async (text, a, b, l) => {
        const result = await render({ subject: text, html: text, text, previewText: text }, { a, b, l })
        if ('failure' in result) {
          expect(result).toMatchObject({
            failure: 'bound',
            field: expect.stringMatching(/subject|html|text/),
          })
          return
        }
        expect([...result.subject!].length).toBeLessThanOrEqual(2000)
        expect(result.subject).not.toMatch(/\p{Cc}/u)
        expect(result.previewText).not.toMatch(/\p{Cc}/u)
        for (const output of [result.html, result.text]) {
          expect(output!.isWellFormed()).toBe(true)
          expect(Buffer.byteLength(output!)).toBeLessThanOrEqual(2 * 1024 * 1024)
        }
      }),
      { seed: 4711, numRuns: 300 },
    )
  })

  test('of two loops renders exactly if they have 10,000 iterations together', async () => {
    const count = fc.integer({ min: 1, max: 130 })
    const list = (length: number) => Array.from({ length }, (_, at) => at)
    await fc.assert(
      fc.asyncProperty(count, count, async (outer, inner) => {
        const result = await textOf('{{#each params.o}}{{#each @root.params.i}}x{{/each}}{{/each}}', {
          o: list(outer),
          i: list(inner),
        })
        const isWithin = outer + outer * inner <= 10_000
        if (isWithin) expect(result).toBe('x'.repeat(outer * inner))
        else expect(result).toMatchObject({ failure: 'bound' })
      }),
      {
        seed: 4711,
        numRuns: 100,
        examples: [
          [100, 99],
          [100, 100],
          [99, 100],
        ],
      },
    )
  })
})
