import { sql } from 'kysely'
import type { Db } from '../../src/database/pool.ts'
import { captureStates } from '../sending/written-states.ts'
import type { OwnerChange, Transition } from './evidence.ts'

/** A setting of each database connection that names the process that opened it. */
const PROCESS_SETTING = 'nemesis.process'

/** The URL of the database for one process, whose writes can then be distinguished. */
export function urlFor(url: string, process: string): string {
  return `${url}?options=${encodeURIComponent(`-c ${PROCESS_SETTING}=${process}`)}`
}

/** Lets the database itself note who owned which account, who moved cursors, how statuses changed, and states of sends. */
export async function startCapture(db: Db): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  await captureStates(db)
}

const STATEMENTS = [
  'create schema nemesis',
  'create table nemesis.instance (id uuid primary key, process text)',
  `create table nemesis.owner (
    number bigint generated always as identity, at timestamptz default pg_catalog.clock_timestamp(), account_id uuid,
    instance_id uuid, writer text, epoch bigint, lease_seconds float8)`,
  'create table nemesis.stale_write (account_id uuid, writer text, owner text)',
  `create table nemesis.transition (
    number bigint generated always as identity, tenant_id uuid, kind text, id uuid, was text, becomes text,
    reason text)`,
  `create function nemesis.process() returns text language sql as
    $$ select nullif(current_setting('${PROCESS_SETTING}', true), '') $$`,
  onRows(
    'instance_begins',
    'insert on public.instance',
    'insert into nemesis.instance values (new.id, nemesis.process())',
  ),
  onRows(
    'owner_changes',
    'update of owner_instance on public.account',
    `if old.owner_instance is distinct from new.owner_instance then
      insert into nemesis.owner (account_id, instance_id, writer, epoch, lease_seconds)
      values (new.id, new.owner_instance, nemesis.process(), new.owner_epoch, (
        select extract(epoch from heartbeat_until - clock_timestamp()) from public.instance
        where id = old.owner_instance and isfinite(heartbeat_until)));
    end if`,
  ),
  // A renaming inserts the cursor of the mailbox, unchanged, under the new source.
  onRows(
    'cursor_moves',
    'update of cursor on public.sync_cursor',
    `insert into nemesis.stale_write
      select new.account_id, nemesis.process(), process from public.account
      left join nemesis.instance on instance.id = owner_instance
      where account.id = new.account_id and process is distinct from nemesis.process()`,
  ),
  onRows(
    'status_changes',
    'update of status on public.outbox',
    `if old.status <> new.status then
      insert into nemesis.transition (tenant_id, kind, id, was, becomes, reason)
      values (new.tenant_id, 'outbox', new.id, old.status, new.status, old.error_reason);
    end if`,
  ),
  onRows(
    'account_changes',
    'update of status on public.account',
    `if old.status <> new.status then
      insert into nemesis.transition (tenant_id, kind, id, was, becomes, reason)
      values (new.tenant_id, 'account', new.id, old.status, new.status, old.status_reason);
    end if`,
  ),
]

function onRows(name: string, event: string, action: string): string {
  return `
    create function nemesis.${name}() returns trigger language plpgsql as
    $$ begin ${action}; return null; end $$;
    create trigger nemesis_${name} after ${event} for each row execute function nemesis.${name}()`
}

export async function readOwners(db: Db, tenantId: string): Promise<OwnerChange[]> {
  const { rows } = await sql<OwnerChange>`
    select account_id as "accountId", extract(epoch from at)::float8 * 1000 as at, process as owner, writer,
      instance_id as "instanceId", epoch::float8 as epoch, lease_seconds as "leaseSeconds"
    from nemesis.owner left join nemesis.instance on instance.id = instance_id
    where account_id in (select id from account where tenant_id = ${tenantId}) order by number
  `.execute(db)
  return rows
}

export async function readStaleWrites(db: Db) {
  const { rows } = await sql<{ accountId: string; writer: string; owner: string | null }>`
    select distinct account_id as "accountId", writer, owner from nemesis.stale_write
  `.execute(db)
  return rows
}

export async function readTransitions(db: Db, tenantId: string): Promise<Transition[]> {
  const { rows } = await sql<Transition>`
    select case when id in (select id from outbox where origin = 'invitation') then 'invitation' else kind end as kind, id, was as "from", becomes as "to", reason from nemesis.transition
    where tenant_id = ${tenantId} order by number
  `.execute(db)
  return rows
}
