import { expect, test } from 'vitest'
import { encodeText } from './charsets.ts'
import { generateMail } from './corpus.ts'
import { LANGUAGES } from './languages.ts'
import { threadNumbers } from './threads.ts'

const newest = new Date('2026-01-02T03:04:05Z')

test('generated mail is the same for the same seed, and arrives in order', () => {
  const first = [...generateMail({ seed: 7, count: 500, newest })]
  const second = [...generateMail({ seed: 7, count: 500, newest })]
  const other = [...generateMail({ seed: 8, count: 500, newest })]

  expect(first).toHaveLength(500)
  expect(second.map(({ raw }) => raw.toString('base64'))).toEqual(
    first.map(({ raw }) => raw.toString('base64')),
  )
  expect(other[0]?.raw.equals(first[0]?.raw ?? Buffer.alloc(0))).toBe(false)
  expect(first.at(-1)?.internalDate).toEqual(newest)
  const dates = first.map(({ internalDate }) => internalDate.getTime())
  expect(dates).toEqual(dates.toSorted((a, b) => a - b))
})

test('generated mail contains every kind of trouble', () => {
  const mail = [...generateMail({ seed: 1, count: 3000, newest })]
  const kinds = mail.map(({ kind }) => kind).join('\n')

  for (const kind of [
    'late',
    'missing parent',
    'repeated id',
    'twice the same',
    'NUL in its text',
    'no Message-ID',
  ]) {
    expect(kinds).toContain(kind)
  }
  expect(new Set(mail.map(({ mailbox }) => mailbox))).toContain('Projects/Übersicht 2025')
  const sizes = mail.map(({ raw }) => raw.length).toSorted((a, b) => a - b)
  expect(sizes[1500]).toBeGreaterThan(3_000)
  expect(sizes[1500]).toBeLessThan(20_000)
  expect(mail.some(({ raw }) => /[^\0-\x7f]/.test(raw.toString('latin1').split('\r\n\r\n')[0] ?? ''))).toBe(
    true,
  )
})

test.each(LANGUAGES.flatMap(language => language.charsets.map(charset => ({ ...language, charset }))))(
  '$code can be written in $charset',
  ({ charset, sentences, subjects, names }) => {
    const text = [...sentences, ...subjects, ...names].join('\n')
    // Node's decoders have no UTF-7.
    if (charset === 'utf-7') expect(encodeText('Müll + Öl', charset).toString()).toBe('M+APw-ll +- +ANY-l')
    else expect(new TextDecoder(charset).decode(encodeText(text, charset))).toBe(text)
  },
)

test('threads are joined by a parent that arrives late, and by one that never arrives', () => {
  const mail = [
    { internetMessageId: '<c>', references: ['<b>'] },
    { internetMessageId: '<x>', references: ['<missing>'] },
    { internetMessageId: '<a>', references: [] },
    { internetMessageId: '<y>', references: ['<missing>'] },
    { internetMessageId: null, references: [] },
    { internetMessageId: '<b>', references: ['<a>'] },
  ]

  expect(threadNumbers(mail)).toEqual([0, 1, 0, 1, 4, 0])
})
