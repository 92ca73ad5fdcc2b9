/** @module-tag postgres-16 */
import { describe, expect, inject, test } from 'vitest'
import { useTestDatabase } from '../use-database.ts'
import { findMissing, findRefused } from './judge.ts'
import { normalize, type RanStatement } from './record.ts'

const ran = (raw: string, origin = 'src/a/store.ts'): RanStatement => ({
  text: normalize(raw),
  raw,
  origin,
  ranBy: 'src/a/a.test.ts',
})

describe('findMissing', () => {
  test('finds nothing if all statements ran on both versions', () => {
    expect(findMissing([ran('select 1')], [ran('select 2'), ran('select 1')])).toEqual([])
  })

  test('finds statements that did not run on the older version, by their files', () => {
    const onNewest = [ran('select 3', 'src/b/store.ts'), ran('select 1'), ran('select 2')]
    expect(findMissing(onNewest, [ran('select 2')]).map(({ raw }) => raw)).toEqual(['select 1', 'select 3'])
  })
})

describe('findRefused', () => {
  const database = useTestDatabase()

  test('accepts statements with parameters, and executes none', async () => {
    const { address, db } = database()
    const statements = [
      `insert into tenant (id, name, settings) values ($1, $2, '{}') returning id`,
      'select id from account where id = any($1::uuid[]) order by id for update skip locked',
      'with gone as (delete from outbox where id = $1 returning id) select count(*)::int as count from gone',
    ]
    expect(
      await findRefused(
        address,
        statements.map(raw => ran(raw)),
      ),
    ).toEqual([])
    expect(await db.selectFrom('tenant').select('id').execute()).toEqual([])
  })

  test('refuses what only a newer version has, with its message', async () => {
    // Added in PostgreSQL 18.
    const statements = ['select $1::int', 'update tenant set name = $1 returning old.name', 'select uuidv7()']
    const refused = await findRefused(
      database().address,
      statements.map(raw => ran(raw)),
    )
    const expected = [
      { raw: statements[1], message: 'missing FROM-clause entry for table "old"' },
      { raw: statements[2], message: 'function uuidv7() does not exist' },
    ]
    expect(refused).toMatchObject(inject('postgres').version === '16' ? expected : [])
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
