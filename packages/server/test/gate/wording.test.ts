import { describe, expect, test } from 'vitest'
import { compareWithList, type Finding, findWording, shortenList } from '../../../../scripts/wording.ts'

const at = (text: string, file = 'a.ts'): string[] =>
  findWording(file, text).map(({ line, rule, text: words }) => `${line} ${rule}: ${words}`)

const NO_NOUN = 'no noun'
const SPEAKS = 'a thing speaks'

test.each([
  ['/** What a plan includes. */', `1 ${NO_NOUN}: What a plan includes.`],
  ['// What is late waits.\nconst a = 1', `1 ${NO_NOUN}: What is late waits.`],
  ['const a = 1 // Who may read it.', `1 ${NO_NOUN}: Who may read it.`],
  [
    '/**\n * Rows of a page.\n * Those of\n * others are hidden.\n */',
    `3 ${NO_NOUN}: Those of others are hidden.`,
  ],
  ['/** Rows. One that is late is left out. */', `1 ${NO_NOUN}: One that is late is left out.`],
  ['/** Whoever asks waits. */', `1 ${NO_NOUN}: Whoever asks waits.`],
  ['{\n  /** Whatever comes. */\n  a: 1,\n}', `2 ${NO_NOUN}: Whatever comes.`],
  ["test('what was sent stays', () => {})", `1 ${NO_NOUN}: what was sent stays`],
  ["test.each([\n  [1],\n])('what %s sends stays', () => {})", `3 ${NO_NOUN}: what %s sends stays`],
  ["text.describe('What the server answered last.')", `1 ${NO_NOUN}: What the server answered last.`],
  ['/** The table says so. */', `1 ${SPEAKS}: table says`],
  ['/** Waits, as the servers may not tell. */', `1 ${SPEAKS}: servers may not tell`],
  ['// Redis no longer knows it.', `1 ${SPEAKS}: Redis no longer knows`],
  ['/** Tells the owner. */', `1 ${SPEAKS}: Tells the`],
  ["describe('a log', () => {\n  test('says why it ends', () => {})\n})", `2 ${SPEAKS}: says why`],
])('%j breaks the rule', (text, finding) => {
  expect(at(text)).toEqual([finding])
})

test.each([
  '/** Rows that a plan includes. What else could be there? */',
  '/** Number of rows. Those rows are hidden. */',
  "const a = { text: 'What is it' }",
  "const a = 'What'",
  "const files = 'packages/*/src/**/*.ts' // One folder.\nconst what = `What ${a}`",
  "const url = 'http://host/What is this.'",
  '/** Tells an echo from an answer. */',
  '/** The user says so, and people know it. */',
  "test('a list shows what was sent', () => {})",
])('%j keeps the rule', text => {
  expect(at(text)).toEqual([])
})

test('the prose of a document counts, and its code, headings and tables do not', () => {
  const document = [
    '# What it does',
    '',
    '| What it says | Why |',
    '|---|---|',
    '',
    'Rows are kept.',
    '**What is late** waits.',
    '',
    '- Who may read it is',
    '  an owner.',
    '- the log says more',
    '',
    '```',
    'What is printed.',
    '```',
  ]
  expect(at(document.join('\n'), 'docs/a.md')).toEqual([
    `7 ${NO_NOUN}: What is late waits.`,
    `9 ${NO_NOUN}: Who may read it is an owner.`,
    `11 ${SPEAKS}: log says`,
  ])
})

describe('the list of known findings', () => {
  const finding = (line: number): Finding => ({ line, rule: NO_NOUN, text: 'What it is.' })
  const found = new Map([
    ['b.ts', [finding(3), finding(9)]],
    ['a.ts', [finding(1)]],
    ['c.ts', []],
  ])

  test('passes what is as listed', () => {
    expect(compareWithList(found, { 'a.ts': 1, 'b.ts': 2 })).toEqual([])
  })

  test('refuses more than it has, with file and line', () => {
    expect(compareWithList(found, { 'b.ts': 1, 'a.ts': 1 })).toEqual([
      'b.ts:3: no noun: What it is.',
      'b.ts:9: no noun: What it is.',
    ])
  })

  test('must be shortened once there are fewer, or once a file is gone', () => {
    expect(compareWithList(found, { 'a.ts': 1, 'b.ts': 2, 'c.ts': 4, 'd.ts': 1 })).toEqual([
      'c.ts: 0 of 4 are left. Shorten the list.',
      'd.ts: 0 of 1 are left. Shorten the list.',
    ])
  })

  test('is rewritten in the order of the files, even after a move, unless the total grew', () => {
    const list = shortenList(found, { 'old.ts': 3 })
    expect(Object.entries(list ?? {})).toEqual([
      ['a.ts', 1],
      ['b.ts', 2],
    ])
    expect(shortenList(found, { 'old.ts': 2 })).toBeNull()
  })
})
