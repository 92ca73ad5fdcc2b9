import { describe, expect, test } from 'vitest'
import { findProblems } from './judge.ts'
import { normalize, type RanStatement } from './record.ts'

const ran = (text: string, origin = 'src/a/store.ts'): RanStatement => ({
  text,
  origin,
  ranBy: 'src/a/a.test.ts',
})
const because = 'it only counts'

describe('findProblems', () => {
  test('finds nothing if all statements ran on both versions', () => {
    expect(findProblems([ran('select 1')], [ran('select 2'), ran('select 1')], [])).toEqual([])
  })

  test('names a statement that did not run on PostgreSQL 16, its file, and a test that ran it on 18', () => {
    const [problem, ...more] = findProblems([ran('select 1'), ran('select 2')], [ran('select 2')], [])
    expect(more).toEqual([])
    expect(problem).toMatch(/^src\/a\/store\.ts: no test .* src\/a\/a\.test\.ts[^]*\n {4}select 1$/)
  })

  test('accepts a reason of the file, and of the beginning of a statement', () => {
    const onNewest = [ran('select 1'), ran('select 2', 'src/b/store.ts'), ran('update 3', 'src/b/store.ts')]
    const reasons = [
      { origin: 'src/a/store.ts', because },
      { origin: 'src/b/store.ts', begins: 'select', because },
    ]
    const problems = findProblems(onNewest, [ran('select 4')], reasons)
    expect(problems).toEqual([expect.stringContaining('update 3')])
  })

  test('refuses a reason that excuses nothing', () => {
    const reasons = [{ origin: 'src/a/store.ts', begins: 'select', because }]
    expect(findProblems([ran('select 1')], [ran('select 1')], reasons)).toEqual([
      'test/statements/reasons.ts: no statement of src/a/store.ts needs a reason that begins select.',
    ])
  })

  test('accepts a reason of statements that run rarely, although none did', () => {
    const reasons = [{ origin: 'src/a/store.ts', because, isRare: true as const }]
    expect(findProblems([ran('select 1')], [ran('select 1')], reasons)).toEqual([])
  })

  test.each([
    ['on neither', [], []],
    ['on PostgreSQL 16', [ran('select 1')], []],
  ])('refuses a run that recorded nothing %s', (_, onNewest, onOldest) => {
    expect(findProblems(onNewest, onOldest, [])).toEqual(['No statements were recorded.'])
  })
})

test('normalize makes one statement of several that differ only in the number of parameters', () => {
  const texts = [
    'insert into a values ($1, $2)',
    'insert into a\n  values ($1, $2), ($3, $4)',
    'insert into a values ($1)',
  ]
  expect(new Set(texts.map(normalize))).toEqual(new Set(['insert into a values ($)']))
})
