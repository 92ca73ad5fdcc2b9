import { sql } from 'kysely'
import type { Db } from '../src/database/pool.ts'
import { newId } from '../src/kit/ids.ts'
import type { Random } from './seeded.ts'

/** Columns of a row, each with another value that its type allows. */
const EDITS: ReadonlyArray<readonly [column: string, value: (random: Random) => string]> = [
  ['id', () => `'${newId()}'`],
  ['actor_type', () => `'operator'`],
  ['actor_id', random => (random.chance(0.5) ? 'null' : `'${newId()}'`)],
  ['actor_label', random => (random.chance(0.5) ? 'null' : `actor_label || ' '`)],
  ['action', () => `'account.delete'`],
  ['surface', () => `'cli'`],
  ['targets', random => (random.chance(0.5) ? `'{}'` : `targets || '{"outboxId": "1"}'`)],
  ['ip', random => (random.chance(0.5) ? 'null' : `'203.0.113.8'`)],
  ['user_agent', random => (random.chance(0.5) ? 'null' : `'probe/1.1'`)],
  ['status', () => '201'],
  ['error_reason', () => `'internal_error'`],
  ['request_id', () => `'another'`],
  ['hash', () => `sha256(hash)`],
]

/** Rows of the tenant whose log is changed, and of another one. */
export const ROWS = 20
export const OTHERS_ROWS = 5
/** Further than any position. */
const FAR = 1000

export type Tamper = (tx: Db, random: Random, tenants: { own: string; other: string }) => Promise<void>

async function run(tx: Db, text: string): Promise<void> {
  await sql.raw(text).execute(tx)
}

const own = (tenants: { own: string }, position: number) =>
  `tenant_id = '${tenants.own}' and position = ${position}`
const someRow = (random: Random) => random.between(1, ROWS)
/** The columns of a copied row after its hash. */
export const COPIED = `gen_random_uuid(), actor_type, actor_id, actor_label, action, surface, targets, ip, user_agent, status,
  error_reason, request_id`

/** Shifts rows by one position, in two steps, since positions are unique. */
async function shift(tx: Db, tenants: { own: string }, from: number, by: 1 | -1) {
  const far = `position between ${FAR + from} and ${FAR + ROWS}`
  await run(
    tx,
    `update audit_entry set position = position + ${FAR} where tenant_id = '${tenants.own}' and position >= ${from}`,
  )
  await run(
    tx,
    `update audit_entry set position = position - ${FAR} + ${by} where tenant_id = '${tenants.own}' and ${far}`,
  )
}

/** Ways to tamper with the log for somebody who can write to the database, but has no key. */
export const tampers: Record<string, Tamper> = {
  edit: (tx, random, tenants) => {
    const [column, value] = random.pick(EDITS)
    return run(
      tx,
      `update audit_entry set ${column} = ${value(random)} where ${own(tenants, someRow(random))}`,
    )
  },
  async remove(tx, random, tenants) {
    const from = someRow(random)
    const to = Math.min(ROWS, from + random.between(0, 3))
    await run(
      tx,
      `delete from audit_entry where tenant_id = '${tenants.own}' and position between ${from} and ${to}`,
    )
  },
  async 'remove and close the gap'(tx, random, tenants) {
    const at = random.between(1, ROWS - 1)
    await run(tx, `delete from audit_entry where ${own(tenants, at)}`)
    await shift(tx, tenants, at + 1, -1)
    await run(
      tx,
      `update audit_chain set head_position = head_position - 1 where tenant_id = '${tenants.own}'`,
    )
  },
  async insert(tx, random, tenants) {
    const at = random.between(1, ROWS + 1)
    await shift(tx, tenants, at, 1)
    const copied = at === 1 ? 2 : at - 1
    await run(
      tx,
      `insert into audit_entry select tenant_id, ${at}, sha256(hash), ${COPIED} from audit_entry
       where ${own(tenants, copied)}`,
    )
    if (random.chance(0.5))
      await run(
        tx,
        `update audit_chain set head_position = head_position + 1 where tenant_id = '${tenants.own}'`,
      )
  },
  async move(tx, random, tenants) {
    const [a, b] = [random.between(1, ROWS / 2), random.between(ROWS / 2 + 1, ROWS)]
    await run(tx, `update audit_entry set position = -1 where ${own(tenants, a)}`)
    await run(tx, `update audit_entry set position = ${a} where ${own(tenants, b)}`)
    await run(tx, `update audit_entry set position = ${b} where ${own(tenants, -1)}`)
  },
  async 'move from another tenant'(tx, random, tenants) {
    const at = random.between(1, OTHERS_ROWS)
    await run(tx, `delete from audit_entry where ${own(tenants, at)}`)
    await run(
      tx,
      `update audit_entry set tenant_id = '${tenants.own}' where tenant_id = '${tenants.other}' and position = ${at}`,
    )
  },
  async 'cut off the end'(tx, random, tenants) {
    const last = random.between(0, ROWS - 1)
    await run(tx, `delete from audit_entry where tenant_id = '${tenants.own}' and position > ${last}`)
    if (last > 0 && random.chance(0.5))
      await run(
        tx,
        `update audit_chain set head_position = position, head_hash = hash from audit_entry
         where audit_chain.tenant_id = audit_entry.tenant_id and audit_entry.${own(tenants, last)}`,
      )
  },
  async 'cut off the beginning'(tx, random, tenants) {
    const last = random.between(1, ROWS - 1)
    if (random.chance(0.5))
      await run(
        tx,
        `update audit_chain set base_position = position, base_hash = hash from audit_entry
         where audit_chain.tenant_id = audit_entry.tenant_id and audit_entry.${own(tenants, last)}`,
      )
    await run(tx, `delete from audit_entry where tenant_id = '${tenants.own}' and position <= ${last}`)
  },
  async 'remove the ends'(tx, _, tenants) {
    await run(tx, `delete from audit_chain where tenant_id = '${tenants.own}'`)
  },
  async 'take the ends of another tenant'(tx, _, tenants) {
    await run(tx, `delete from audit_chain where tenant_id = '${tenants.own}'`)
    await run(tx, `update audit_chain set tenant_id = '${tenants.own}' where tenant_id = '${tenants.other}'`)
  },
}
