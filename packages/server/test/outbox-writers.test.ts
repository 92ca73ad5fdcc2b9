import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

const SOURCE = path.resolve(import.meta.dirname, '../src')

/** The only file that changes the state of an entry. */
const TRANSITIONS = 'features/sending/outbox/transitions.ts'

/** The state of an entry, and the columns that each transition sets with it. */
const COLUMNS = [
  'status',
  'phase',
  'task',
  'claim',
  'claimed_by',
  'due_at',
  'waiting',
  'task_at',
  'task_by',
  'task_tries',
  'held_since',
  'sent_at',
  'ended_at',
]
/** A new entry is queued by the defaults of these. */
const STATE = /"?\b(status|phase|task)\b"?/
/** The text between `set` and the end of the assignments. */
const UPDATE =
  /\bupdate\s+(?:only\s+)?(?:public\.)?"?outbox"?\s+(?:as\s+\w+\s+)?set\b(.*?)(?:\bfrom\b|\bwhere\b|\breturning\b|`|$)/gis
const INSERT = /\b(?:insert|merge)\s+into\s+(?:public\.)?"?outbox"?\s*\(([^)]*)\)/gi
const KYSELY = /\b(?:updateTable|insertInto|mergeInto)\(\s*['"`]outbox['"`]/g
const ASSIGNMENT = new RegExp(`\\b(?:${COLUMNS.join('|')})\\b"?\\s*=`, 'i')
/** Assignments that a text can be judged by: to single columns that it names. */
const NAMED = /^\s*"?\w+"?\s*=(?![\s\S]*,\s*\$\{)/

/** A text without the subselects of its statements, which have words such as `from` before the end of the assignments. */
function withoutSubselects(text: string): string {
  const inner = text.replaceAll(/\(([^()]*)\)/g, (_, within: string) =>
    /^\s*select\b/i.test(within) ? 'null' : `\u0001${within}\u0002`,
  )
  if (inner !== text) return withoutSubselects(inner)
  return text.replaceAll('\u0001', '(').replaceAll('\u0002', ')')
}

/** The statements of a text that write the state of an entry, or may write it since their columns are not in the text. */
function writesOfState(source: string): string[] {
  const text = withoutSubselects(source)
  const updates = [...text.matchAll(UPDATE)].filter(
    ([, set = '']) => ASSIGNMENT.test(set) || !NAMED.test(set),
  )
  const inserts = [...text.matchAll(INSERT)].filter(
    ([, columns = '']) => STATE.test(columns) || /\$\{/.test(columns),
  )
  return [...updates, ...inserts, ...text.matchAll(KYSELY)].map(([statement]) => statement)
}

test('only transitions.ts writes the state of an entry of the outbox', () => {
  const files = globSync('**/*.ts', { cwd: SOURCE }).filter(file => !file.endsWith('.test.ts'))
  const found = files
    .filter(file => file !== TRANSITIONS)
    .flatMap(file =>
      writesOfState(readFileSync(path.join(SOURCE, file), 'utf8')).map(text => `${file}: ${text}`),
    )
  expect(found).toEqual([])
  expect(files).toContain(TRANSITIONS)
  expect(writesOfState(readFileSync(path.join(SOURCE, TRANSITIONS), 'utf8'))).toHaveLength(1)
})

test.each([
  "sql`update outbox set status = 'sent' where id = ${id}`",
  'sql`update outbox set\n  filed_copy = null, task = null from doubled`',
  'sql`UPDATE outbox AS entry SET phase = null`',
  'sql`update only public."outbox" set "due_at" = now()`',
  'sql`update outbox set (reference, task) = (null, null)`',
  'sql`update outbox set ${set} where id = ${id}`',
  'sql`update outbox set reference = null, ${more} where id = ${id}`',
  "sql`update outbox set filed_copy = (select max(id) from message where id = ${id}), status = 'sent'`",
  "sql`insert into outbox (id, status) values (${id}, 'sent')`",
  'sql`insert into outbox (${columns}) select 1`',
  "db.updateTable('outbox').set({ status: 'sent' })",
])('finds a write of the state: %s', text => {
  expect(writesOfState(text)).toHaveLength(1)
})

test.each([
  'sql`update outbox set filed_copy = null from doubled where task is not null`',
  "sql`update outbox set copy_filed_at = clock_timestamp() where status = 'sent'`",
  'sql`update outbox set filed_copy = (select task from message where task is not null) where id = ${id}`',
  'sql`update outbox_content set outbox_id = kept.id`',
  'sql`insert into outbox (id, tenant_id) select id, ${tenantId} from accepted`',
])('passes a write of something else: %s', text => {
  expect(writesOfState(text)).toEqual([])
})
