import { describe, expect, test } from 'vitest'
import { openTemplates } from './compile.ts'

const { compile } = openTemplates()

describe('a template', () => {
  test.each([
    '',
    'text',
    '{{params.x}} {{{params.x}}} {{&params.x}} {{this}} {{../x}} {{@root.params.x}} {{params.[a b].[0]}}',
    '{{#if a}}x{{else if b}}y{{else}}z{{/if}}{{#unless a}}x{{/unless}}{{^if a}}x{{/if}}',
    '{{#if a includeZero=true}}x{{/if}}',
    '{{#each a as |value key|}}{{@index}}{{@key}}{{@first}}{{@last}}{{value}}{{key}}{{/each}}',
    '{{#with a as |b|}}{{b.c}}{{else}}-{{/with}}',
    '{{lookup a "b"}}{{lookup (lookup a 1) @key}}{{#each (lookup a b)}}x{{/each}}',
    '{{#section}}x{{/section}}{{^section}}y{{/section}}',
    '{{! a comment }}{{!-- {{another}} --}}{{~x~}}\\{{escaped}}',
    '{{helperMissing}}{{blockHelperMissing}}{{log}}{{constructor}}{{__proto__}}',
  ])('may have %j', source => expect(() => compile(source)).not.toThrow())

  test.each([
    '{{',
    '{{}}',
    '{{#if a}}',
    '{{/if}}',
    '{{#if a}}{{/each}}',
    '{{else}}',
    '{{a b}}',
    '{{a b=1}}',
    '{{> partial}}',
    '{{> (lookup a "b")}}',
    '{{#> partial}}x{{/partial}}',
    '{{#> @partial-block}}x{{/@partial-block}}',
    '{{* decorator}}',
    '{{#*inline "x"}}y{{/inline}}',
    '{{log "x"}}',
    '{{helperMissing "x"}}',
    '{{#blockHelperMissing x}}{{/blockHelperMissing}}',
    '{{shout x}}',
    '{{#repeat 3}}x{{/repeat}}',
    '{{#lookup a b}}x{{/lookup}}',
    '{{params.lookup a b}}',
    '{{./lookup a b}}',
    '{{@lookup a b}}',
    '{{if}}',
    '{{if a}}',
    '{{"if" a}}',
    '{{[if]}}',
    '{{#if}}x{{/if}}',
    '{{#each a b}}x{{/each}}',
    '{{lookup a}}',
    '{{lookup a b c}}',
    '{{lookup (shout a) b}}',
    '{{#if (if a)}}x{{/if}}',
    '{{#if a includeZero=(shout b)}}x{{/if}}',
    '{{#if a}}{{else}}{{> x}}{{/if}}',
    '{{#each a}}{{#with b}}{{* c}}{{/with}}{{/each}}',
    '{{{{shout x}}}}y{{{{/shout}}}}',
  ])('may not have %j', source => expect(() => compile(source)).toThrow())

  test('is kept compiled, within a bound', () => {
    const source = '{{params.x}}'
    expect(compile(source)).toBe(compile(source))
    const first = compile(source)
    for (let at = 0; at < 300; at++) compile(`${source}${at}`)
    expect(compile(source)).not.toBe(first)
  })

  // Comments compile fastest.
  test('is kept by the heap that it takes, not by its length', () => {
    const templates = openTemplates()
    const sources = Array.from({ length: 20 }, (_, at) => `${'{{!}}'.repeat(6000)}${at}`)
    const [first] = sources.map(source => templates.compile(source))
    const last = templates.compile(sources[19]!)
    expect(templates.compile(sources[19]!)).toBe(last)
    expect(templates.compile(sources[0]!)).not.toBe(first)
  })

  test('is not kept if it takes more than all may, and leaves the others', () => {
    const templates = openTemplates()
    const small = templates.compile('{{a}}')
    const large = '{{!}}'.repeat(90_000)
    expect(templates.compile(large)).not.toBe(templates.compile(large))
    expect(templates.compile('{{a}}')).toBe(small)
  })

  test.each([
    ['{{a}}', 979],
    ['{{1}}', 737],
    ['{{a.b.c.d.e}}', 1157],
    ['{{#each a}}{{/each}}', 2442],
    ['{{#if a}}x{{else}}y{{/if}}', 3303],
    ['{{#each a as |b c|}}{{b}}{{/each}}', 3568],
    ['{{lookup (lookup a 1) 2}}', 3443],
  ])('%j weighs at least the %d bytes that it takes', (source, bytes) => {
    expect(compile(source).bytes).toBeGreaterThan(bytes)
  })
})
