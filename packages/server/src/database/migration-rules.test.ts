import { readdir, readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { BEFORE_RELEASES, findProblems, RULED_FROM } from '../../test/migration-rules.ts'

const FOLDER = new URL('./migrations/', import.meta.url)
const SERVES = '-- Serves releases from 0050 on.\n'
const WITH_REASON = '-- Serves releases from 0050 on: nothing reads it.\n'
const OUTSIDE = '-- Outside a transaction:\n'

test('every migration lets the releases that it names go on, and holds up nobody for long', async () => {
  const isRuled = (version: number) => version >= RULED_FROM && !BEFORE_RELEASES.includes(version)
  const names = (await readdir(FOLDER)).filter(name => isRuled(Number.parseInt(name, 10)))
  expect(names).not.toEqual([])
  for (const name of names) {
    const problems = await findProblems(name, await readFile(new URL(name, FOLDER), 'utf8'))
    expect({ name, problems }).toEqual({ name, problems: [] })
  }
})

test.each(BEFORE_RELEASES)('the exception %i from the rules breaks one', async version => {
  const name = (await readdir(FOLDER)).find(each => Number.parseInt(each, 10) === version)!
  expect(await findProblems(name, await readFile(new URL(name, FOLDER), 'utf8'))).not.toEqual([])
})

describe('a migration is accepted', () => {
  test.each([
    [
      'that adds a table with all that belongs to it',
      'create table b (id int); create unique index b_id on b (id); alter table b add check (id > 0); update b set id = 1',
    ],
    [
      'that adds columns which need no value',
      `alter table a add column b int, add column c int not null default 0, add column d timestamptz default now()`,
    ],
    ['that adds a constraint without reading the table', `alter table a drop constraint c`, WITH_REASON],
    ['that lets a column be null', 'alter table a alter column b drop not null'],
    ['that fills a table', `insert into a values (1)`],
    [
      'that creates an index concurrently',
      `${OUTSIDE}create index concurrently a_b on a (b) where c = 'x'; analyze a`,
    ],
    [
      'that validates a constraint outside',
      `alter table a add constraint c check (b > 0) not valid;\n${OUTSIDE}alter table a validate constraint c`,
      WITH_REASON,
    ],
    [
      'that changes rows in batches',
      `${OUTSIDE}update a set b = 1 where id in (select id from a where b is null limit 2000)`,
      WITH_REASON,
    ],
    ['that drops an index concurrently', `${OUTSIDE}drop index concurrently if exists a_b`],
  ])('%s', async (_, sql, head = SERVES) => {
    expect(await findProblems('0060_test.sql', head + sql)).toEqual([])
  })
})

describe('a migration is refused', () => {
  test.each([
    ['without its first line', 'create table b (id int)', '', 'Serves releases'],
    [
      'that serves only what is newer',
      'create table b (id int)',
      '-- Serves releases from 0061 on.\n',
      'newer than itself',
    ],
    ['that drops a column', 'alter table a drop column b', SERVES, 'AT_DropColumn on a'],
    ['that drops a table', 'drop table a', SERVES, 'DropStmt'],
    ['that renames', 'alter table a rename column b to c', SERVES, 'RenameStmt a'],
    [
      'that requires a value',
      'alter table a add column b int not null',
      SERVES,
      'a.b is required and has no default',
    ],
    ['that forbids null', 'alter table a alter column b set not null', SERVES, 'AT_SetNotNull on a'],
    ['that changes a default', 'alter table a alter column b drop default', SERVES, 'AT_ColumnDefault on a'],
    ['that changes a type', 'alter table a alter column b type bigint', WITH_REASON, 'writes a again'],
    [
      'that computes a default for each row',
      'alter table a add column b uuid default gen_random_uuid()',
      SERVES,
      'the default of a.b writes the table again',
    ],
    [
      'that creates an index in the transaction',
      'create index a_b on a (b)',
      SERVES,
      'create it concurrently',
    ],
    [
      'that creates a unique index',
      `${OUTSIDE}create unique index concurrently a_b on a (b)`,
      SERVES,
      'a unique index on a',
    ],
    [
      'that adds a constraint which reads the table',
      'alter table a add constraint c check (b > 0)',
      WITH_REASON,
      'add it "not valid"',
    ],
    [
      'that adds a unique constraint',
      'alter table a add unique (b)',
      WITH_REASON,
      'create that concurrently first',
    ],
    ['that changes rows', 'update a set b = 1', SERVES, 'UpdateStmt a'],
    ['that runs code', 'do $$ begin end $$', SERVES, 'DoStmt'],
    [
      'that changes rows outside at once',
      `${OUTSIDE}update a set b = 1`,
      WITH_REASON,
      'with a limit of at most',
    ],
    ['that creates a table outside', `${OUTSIDE}create table b (id int)`, WITH_REASON, 'cannot be run again'],
    [
      'that creates an index outside, but not concurrently',
      `${OUTSIDE}create index a_b on a (b)`,
      SERVES,
      'is not created concurrently',
    ],
  ])('%s', async (_, sql, head, problem) => {
    expect((await findProblems('0060_test.sql', head + sql)).join()).toContain(problem)
  })
})
