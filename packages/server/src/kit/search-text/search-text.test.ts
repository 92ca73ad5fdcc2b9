import fc from '../../../test/property.ts'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { openTestDatabase } from '../../../test/open-database.ts'
import type { Database } from '../../database/pool.ts'
import { bodyVector, documentVector, TEXT_LENGTH_MAX } from './document.ts'
import { parseQuery } from './query.ts'
import { readWords } from './words.ts'

function wordsOf(text: string): string[] {
  const words: string[] = []
  readWords(text, 0, word => void words.push(word))
  return words
}

describe('readWords', () => {
  test.each([
    ['The Quick, brown fox.', ['the', 'quick', 'brown', 'fox']],
    ['alice.b@example.com', ['alice', 'b', 'example', 'com']],
    ['https://a.test/x?y=1#z', ['https', 'a', 'test', 'x', 'y', '1', 'z']],
    ['don’t user_name C++ 3.14', ['don', 't', 'user', 'name', 'c', '3', '14']],
    ['Grüße ÅNGSTRÖM Łódź Straße', ['grusse', 'angstrom', 'lodz', 'strasse']],
    ['İstanbul ISPARTA ışık', ['istanbul', 'isparta', 'isik']],
    ['ΟΔΟΣ οδός', ['οδοσ', 'οδοσ']],
    ['Ещё йод', ['еще', 'иод']],
    ['شُكْرًا أحمد', ['شكرا', 'احمد']],
    ['שָׁלוֹם', ['שלום']],
    ['हिन्दी भाषा', ['हिन्दी', 'भाषा']],
    ['ＡＢＣ１２３ ﬁn ①', ['abc123', 'fin', '1']],
    ['co\u00adoperate zero\u200bwidth', ['cooperate', 'zerowidth']],
    ['会议记录', ['会', '会议', '议', '议记', '记', '记录', '录']],
    ['gen-itgc后端', ['gen', 'itgc', '后', '后端', '端']],
    ['カタ ｶﾀ', ['カ', 'カタ', 'タ', 'カ', 'カタ', 'タ']],
    ['한국어', ['한', '한국', '국', '국어', '어']],
    ['ไทย', ['ไ', 'ไท', 'ท', 'ทย', 'ย']],
    ['后', ['后']],
    ['𠀀𠀁', ['𠀀', '𠀀𠀁', '𠀁']],
    ['ok 👍🏽 🇩🇪 👨‍👩‍👧', ['ok', '👍', '🇩', '🇪', '👨', '👩', '👧']],
    ['', []],
    ['\0\u0001 \ud800 \udfff --- "\'\\', []],
  ])('reads %j', (text, words) => expect(wordsOf(text)).toEqual(words))

  test('indexes only the beginning of a long word', () => {
    expect(wordsOf('a'.repeat(1000))).toEqual(['a'.repeat(64)])
    expect(wordsOf('𝔞'.repeat(1000))[0]).toHaveLength(64)
  })
})

describe('parseQuery', () => {
  test.each([
    ['alpha beta', `('alpha' & 'beta')`],
    ['"alpha beta"', `'alpha' <1> 'beta'`],
    ['“alpha beta”', `'alpha' <1> 'beta'`],
    ['alpha OR beta', `('alpha' | 'beta')`],
    ['alpha beta OR gamma delta', `('alpha' & ('beta' | 'gamma') & 'delta')`],
    ['alpha or beta', `('alpha' & 'or' & 'beta')`],
    ['alpha -beta', `('alpha' & !('beta'))`],
    ['alpha -"beta gamma"', `('alpha' & !('beta' <1> 'gamma'))`],
    ['alpha-beta', `'alpha' <1> 'beta'`],
    ['example.com', `'example' <1> 'com'`],
    ['alpha "beta', `('alpha' & 'beta')`],
    ['OR alpha OR', `'alpha'`],
    ['alpha OR OR beta', `('alpha' | 'beta')`],
    ['- alpha --beta', `('alpha' & !('beta'))`],
    ['"" alpha "', `'alpha'`],
    ['alpha Alpha ALPHA', `'alpha'`],
    ['后', `'后'`],
    ['会议', `'会议'`],
    ['会议记录', `'会议' <1> '议记' <1> '记录'`],
    ['"会议 记录"', `'会议' <2> '记录'`],
    ['gen-itgc后', `'gen' <1> 'itgc' <1> '后'`],
    [`a & b | !c <-> 'd':*`, `('a' & 'b' & 'c' & 'd')`],
  ])('reads %j', (q, strict) => expect(parseQuery(q)?.strict).toBe(strict))

  test.each(['', ' ', '"', '""', '-', 'OR', '-"', '***', '\ud800', '\u0001'])('finds no word in %j', q =>
    expect(parseQuery(q)).toBeNull(),
  )
})

const WORDS = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 5 })
const SENTENCE = WORDS.map(words => words.join(' '))
const TERM = fc.oneof(
  fc.constantFrom('a', 'b', 'c', '-a', '-b'),
  SENTENCE.map(words => `"${words}"`),
  SENTENCE.map(words => `-"${words}"`),
)
const QUERY = fc
  .array(fc.tuple(TERM, fc.constantFrom(' ', ' OR ')), { minLength: 1, maxLength: 5 })
  .map(terms => terms.flat().join(''))
const TEXT = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.string({
    unit: fc.constantFrom(...'ab "-OR\'\\&|!<>:*()()后会议ไทй\u0301😀\ud800\u0007\n'.split('')),
    maxLength: 300,
  }),
)

describe('a document in PostgreSQL', () => {
  let database: Database
  beforeAll(async () => {
    database = await openTestDatabase()
    return () => database[Symbol.asyncDispose]()
  })

  async function matches(document: Buffer | string, query: string): Promise<boolean | undefined> {
    const { rows } = await sql<{ found: boolean }>`
      select ${document}::tsvector @@ ${query}::tsquery as found
    `.execute(database.db)
    return rows[0]?.found
  }

  test.each([
    ['for any text and query', TEXT, TEXT],
    ['for alternatives and exclusions', SENTENCE, QUERY],
  ])('gives the same result strictly and loosely, %s', async (_, texts, queries) => {
    await fc.assert(
      fc.asyncProperty(texts, queries, async (text, q) => {
        const document = documentVector({ subject: text, sender: [text], recipients: [text, text], text })
        const query = parseQuery(q)
        if (!query) return
        const strict = await matches(document, query.strict)
        // A document that matches strictly also matches loosely.
        if (strict && query.loose) expect(await matches(document, query.loose)).toBe(true)
        if (query.ranked) expect(typeof (await matches(document, query.ranked))).toBe('boolean')
        if (query.isLoose) expect(await matches(document, query.loose ?? '')).toBe(strict)
      }),
      { numRuns: 300 },
    )
  })

  test('is found by any run of characters of a script without spaces, anywhere in a long text', async () => {
    const character = fc.integer({ min: 0x4e00, max: 0x4e20 }).map(code => String.fromCodePoint(code))
    const han = fc.array(character, { minLength: 10, maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(
        han,
        fc.constantFrom(0, 11_990, 16_370, 30_000),
        fc.integer({ min: 1, max: 4 }),
        fc.nat(5),
        async (run, words, length, from) => {
          const text = `${Array.from({ length: words }, (_, nth) => `w${nth}`).join(' ')} ${run.join('')} end`
          const query = parseQuery(run.slice(from, from + length).join(''))
          expect(await matches(bodyVector(text), query!.strict)).toBe(true)
        },
      ),
      { numRuns: 25 },
    )
  })

  test('has each word once, with its positions and weights', async () => {
    const fields = { subject: 'Tea tea', sender: ['Ada'], recipients: ['Bøb', 'tea'], text: '茶 tea' }
    const { rows } = await sql<{ document: string }>`
      select ${documentVector(fields)}::tsvector::text as document
    `.execute(database.db)
    expect(rows[0]?.document).toBe(`'ada':23B 'bob':34C 'tea':11A,12A,45C,57 '茶':56`)
  })

  test('matches no phrase across header and body', async () => {
    const header = documentVector({ subject: null, sender: ['ada'], recipients: ['bob'], text: '' })
    const { rows } = await sql<{ document: string }>`
      select (ts_filter(${header}::tsvector, '{a,b,c}') || ${bodyVector('carol dan')}::tsvector)::text as document
    `.execute(database.db)
    const document = rows[0]!.document
    expect(await matches(document, parseQuery('bob carol "carol dan"')!.strict)).toBe(true)
    expect(await matches(document, parseQuery('"bob carol"')!.strict)).toBe(false)
    expect(await matches(document, parseQuery('"ada bob"')!.strict)).toBe(false)
  })

  test('stays within the limits of PostgreSQL for the largest texts', async () => {
    const han = (count: number, from: number) =>
      Array.from({ length: count }, (_, nth) => String.fromCodePoint(from + ((nth * 7919) % 20_000))).join('')
    const worst = [
      han(TEXT_LENGTH_MAX, 0x4e00),
      han(TEXT_LENGTH_MAX / 2, 0x20000),
      'a '.repeat(TEXT_LENGTH_MAX),
      Array.from({ length: 100_000 }, (_, nth) => nth.toString(36)).join(' '),
      '\ufdfa'.repeat(TEXT_LENGTH_MAX),
    ]
    for (const text of worst) {
      const header = documentVector({ subject: text, sender: [text], recipients: [text], text })
      const { rows } = await sql<{ bytes: number }>`
        select pg_column_size(ts_filter(${header}::tsvector, '{a,b,c}') || ${bodyVector(text)}::tsvector) as bytes
      `.execute(database.db)
      expect(rows[0]?.bytes).toBeGreaterThan(0)
    }
  })
})
