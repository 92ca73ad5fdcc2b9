import { describe, expect, test } from 'vitest'
import { readSources, type SourceFile } from '../../../../scripts/import-graph.ts'
import { findTestFiles } from './test-files.ts'

const TEST = 'packages/server/src/a/a.test.ts'
const CODE = 'packages/server/src/a/a.ts'
/** Of this repository. */
const SOURCES = readSources()

/** The project of a test with such a text, whose code imports such modules. */
function projectOf(text: string, ...imports: string[]) {
  const sources = new Map<string, SourceFile>([
    [TEST, { text, imports: ['vitest', CODE] }],
    [CODE, { text: 'process.exit()', imports }],
  ])
  const { pure, alone, others, tagged, taggedInSoak } = findTestFiles(sources)
  return [
    ...pure.map(() => 'pure'),
    ...alone.map(() => 'alone'),
    ...others.map(() => 'others'),
    ...tagged.map(() => 'tagged'),
    ...taggedInSoak.map(() => 'tagged in soak'),
  ]
}

describe('findTestFiles', () => {
  test.each([
    ['only values', 'expect(1).toBe(1)', 'pure', 'zod'],
    ['files of the repository', 'readFileSync(path)', 'pure', 'node:fs'],
    ['a database', 'expect(1)', 'others', 'pg'],
    ['a server', 'expect(1)', 'others', 'node:http'],
    ['a process', 'expect(1)', 'others', 'node:child_process'],
    ['a package that is not known', 'expect(1)', 'others', 'left-pad'],
    ['a file that is not there', 'expect(1)', 'others', 'packages/server/src/gone.ts'],
    ['another clock', 'vi.useFakeTimers()', 'alone', 'zod'],
    ['another function of all', 'globalThis.fetch = answer', 'alone', 'pg'],
    ['the memory of its process', 'process.memoryUsage()', 'alone', 'pg'],
    ['a function that it watches', "vi.spyOn(console, 'log')", 'others', 'pg'],
    ['another environment', "process.env['A'] = 'b'", 'alone', 'zod'],
    ['a temporary folder', 'await mkdtemp(prefix)', 'others', 'node:fs/promises'],
    ['a module that it imports later', "await import('pg')", 'others', 'zod'],
  ])('puts a test of %s into its project', (_, text, project, imported) => {
    expect(projectOf(text, imported)).toEqual([project])
  })

  test('sees what a helper of the tests does', () => {
    const helper = 'packages/server/test/helper.ts'
    const sources = new Map<string, SourceFile>([
      [TEST, { text: '', imports: [helper] }],
      [helper, { text: 'vi.stubEnv(name, value)', imports: [] }],
    ])
    expect(findTestFiles(sources).alone).toEqual(['src/a/a.test.ts'])
  })

  test('takes the variable of the guard for no change', () => {
    const guard = 'packages/server/test/guard/guard.ts'
    const sources = new Map<string, SourceFile>([
      [TEST, { text: '', imports: [guard] }],
      [guard, { text: 'process.env[VARIABLE] = folder', imports: [] }],
    ])
    expect(findTestFiles(sources)).toMatchObject({ alone: [], others: ['src/a/a.test.ts'] })
  })

  // Written in two parts, or this file would have the tag.
  test.each([
    `/** @module-${'tag'} postgres-16 */`,
    `describe('a', { tags: ['${'postgres'}-16'] }, () => {})`,
  ])('finds the tag in %s', text => {
    expect(projectOf(text, 'pg')).toEqual(['others', 'tagged'])
    expect(projectOf(text.replace('16', '16-in-soak'), 'pg')).toEqual(['others', 'tagged in soak'])
  })
})

test('no helper of the tests registers a hook when it is loaded, which happens once for many files', () => {
  const hook = /^(?:(?:export )?const .*= )?(?:use[A-Z]\w*|(?:before|after|around)(?:All|Each))\(/m
  const helpers = [...SOURCES].filter(
    ([file]) => /\/test\//.test(file) && !/\.test\.ts$|\/leaks\/(?:setup\.ts|planted\/)/.test(file),
  )
  expect(helpers.length).toBeGreaterThan(100)
  expect(helpers.filter(([, { text }]) => hook.test(text)).map(([file]) => file)).toEqual([])
})

// By its import `npm run soak` finds the file. Written in two parts, or this file would have the tag.
test('every test with the tag `soak` has it by the module that is for it', () => {
  const tagged = [...SOURCES].filter(([, { text }]) => text.includes(`tags: ['${'soak'}']`))
  expect(tagged.map(([file]) => file)).toEqual(['packages/server/test/soak.ts'])
})

test('tests that run beside others of their file poll by the `expect` of their own context', () => {
  const files = [...SOURCES].filter(
    ([file, { text }]) => file.endsWith('.test.ts') && /\b(?:describe|test)\.concurrent\b/.test(text),
  )
  expect(files.length).toBeGreaterThan(20)
  // The imported one has no test as soon as another one ends.
  const polls = files.filter(([, { text }]) => /\bexpect\.(?:poll|assertions|hasAssertions)\b/.test(text))
  expect(polls.map(([file]) => file)).toEqual([])
})
