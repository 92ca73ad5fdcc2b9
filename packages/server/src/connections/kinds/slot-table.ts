import { hash } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../database/pool.ts'
import { Gathered } from '../../kit/gathered.ts'
import type { Sharing } from '../../kit/share.ts'
import type { BorrowedSlot, SlotReturn, SlotTable } from '../../providers/graph/shared-slots.ts'

/** A process that asks for a slot in vain is the next that gets it, if it asks again within this time. */
const IN_LINE_SECONDS = 1
/**
 * The longest time for which a refusal holds up other processes; after it, they are refused themselves. A time that is
 * farther ahead was written before the clock was set back.
 */
const HELD_UP_SECONDS_MAX = 3_600
const RETURNS_AT_ONCE = 500

/** The processes that share mailboxes, with the leases that they hold. */
export interface LeasedSharing extends Sharing {
  /** The lease of this process; null while it has none. */
  readonly instanceId: string | null
  /** Whether the process that a column names has a valid lease. */
  isClaimed(column: string): RawBuilder<boolean>
}

interface Asked {
  number: BorrowedSlot
  isTaken: boolean
  heldUpSeconds: number
}

/**
 * Slots as rows, by the database's clock. One statement takes slots, and one gives any number of them back. A row is free
 * if no process with a valid lease has it, so the slots of a process that died come back with its lease.
 */
export function slotTable(db: Db, isClaimed: LeasedSharing['isClaimed']): SlotTable {
  const inTime = (column: string, secondsMax: number) => sql<boolean>`(
    ${sql.ref(column)} > clock_timestamp()
    and ${sql.ref(column)} < clock_timestamp() + make_interval(secs => ${secondsMax}::int)
  )`
  const isWanted = sql<boolean>`(slot.wanted_by is not null and ${inTime('slot.wanted_until', 2 * IN_LINE_SECONDS)})`
  const isFreeFor = (instanceId: string) => sql<boolean>`(
    (slot.instance is null or slot.instance = ${instanceId}::uuid or not ${isClaimed('slot.instance')})
    and (slot.wanted_by = ${instanceId}::uuid or not ${isWanted})
  )`

  /** @returns for each slot whether the process still has it */
  async function giveBack(returns: SlotReturn[]): Promise<boolean[]> {
    const { rows } = await sql<{ isLost: boolean }>`
      with asked as (
        select * from unnest(
          ${returns.map(({ name }) => digest(name))}::text[], ${returns.map(({ slot }) => slot)}::smallint[],
          ${returns.map(({ instanceId }) => instanceId)}::uuid[],
          ${returns.map(({ isOffered }) => isOffered)}::boolean[]
        ) with ordinality as asked (name, number, instance, is_offered, nth)
      ), given as (
        update graph_slot as slot set instance = null from asked
        where slot.name = asked.name and slot.number = asked.number and slot.instance = asked.instance
          and (not is_offered or (${isWanted} and slot.wanted_by <> asked.instance))
        returning nth
      )
      -- A slot that was not given and is not there belongs to nobody, or to a process that took this one to be dead.
      select (given.nth is not null or slot.instance is null) as "isLost" from asked
      left join given on given.nth = asked.nth
      left join graph_slot as slot
        on slot.name = asked.name and slot.number = asked.number and slot.instance = asked.instance
      order by asked.nth
    `.execute(db)
    return rows.map(({ isLost }) => isLost)
  }
  const returning = new Gathered(giveBack, RETURNS_AT_ONCE)

  return {
    async take({ name, slots, count, instanceId }) {
      const isFree = isFreeFor(instanceId)
      const { rows } = await sql<Asked>`
        with asked as (
          select asked.number, nth, slot.name is null or ${isFree} as is_free,
            case when ${inTime('slot.paused_until', HELD_UP_SECONDS_MAX)}
              then extract(epoch from slot.paused_until - clock_timestamp()) else 0 end as held_up
          from unnest(${[...slots]}::smallint[]) with ordinality as asked (number, nth)
          left join graph_slot as slot on slot.name = ${digest(name)} and slot.number = asked.number
        ), free as (
          select number from asked where is_free order by nth limit ${count}::int
        ), chosen as (
          select number from free
          union all select number from asked where not exists (select from free)
        ), left_line as (
          update graph_slot as slot set wanted_by = null
          where slot.name = ${digest(name)} and slot.wanted_by = ${instanceId}::uuid
            and exists (select from free) and slot.number <> all (select number from free)
        ), written as (
          insert into graph_slot as slot (name, number, instance)
          select ${digest(name)}, number, ${instanceId}::uuid from chosen
          where not exists (select from asked where held_up > 0) order by number
          on conflict (name, number) do update set
            instance = case when ${isFree} then excluded.instance else slot.instance end,
            wanted_by = case when ${isFree} then null when ${isWanted} then slot.wanted_by
              else excluded.instance end,
            wanted_until = case when ${isFree} then null
              when ${isWanted} and slot.wanted_by <> excluded.instance then slot.wanted_until
              else clock_timestamp() + make_interval(secs => ${IN_LINE_SECONDS}::int) end,
            used_at = clock_timestamp()
          returning number, instance
        )
        select asked.number, coalesce(written.instance = ${instanceId}::uuid, false) as "isTaken",
          held_up::float8 as "heldUpSeconds"
        from asked left join written using (number)
      `.execute(db)
      return {
        slots: rows.flatMap(({ number, isTaken }) => (isTaken ? [number] : [])),
        heldUpSeconds: Math.max(...rows.map(({ heldUpSeconds }) => heldUpSeconds)),
      }
    },
    giveBack: given => returning.ask(given),
    async holdUp(name, seconds) {
      await sql`
        insert into graph_slot as slot (name, number, paused_until)
        select ${digest(name)}, number, clock_timestamp() + make_interval(secs => ${Math.min(seconds, HELD_UP_SECONDS_MAX - 1)}::float8)
        from generate_series(1, 2) as number
        on conflict (name, number) do update set
          paused_until = greatest(excluded.paused_until,
            case when ${inTime('slot.paused_until', HELD_UP_SECONDS_MAX)} then slot.paused_until end),
          used_at = clock_timestamp()
      `.execute(db)
    },
  }
}

/** Deletes the rows of slots that nobody has asked for in the last hour. */
export async function sweepSlots(db: Db, isClaimed: LeasedSharing['isClaimed']): Promise<void> {
  await sql`
    delete from graph_slot where used_at < clock_timestamp() - interval '1 hour'
      and not ${isClaimed('graph_slot.instance')}
  `.execute(db)
}

function digest(name: string): string {
  return hash('sha256', name, 'base64url')
}
