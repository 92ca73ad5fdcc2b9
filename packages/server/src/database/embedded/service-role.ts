import { createHmac } from 'node:crypto'
import { Client, DatabaseError } from 'pg'
import { SUPERUSER } from './cluster.ts'
import { clientSettings, type DatabaseAddress } from '../pool.ts'

/**
 * The role that owns the embedded database and everything in it. It is not a superuser: it can neither read files nor
 * run programs.
 */
export const SERVICE_ROLE = 'waxwing_service'

const DUPLICATE_OBJECT = '42710'

/**
 * Derived from the superuser's password, so that only one secret must be kept. The superuser's password cannot be
 * computed from it.
 */
export function servicePassword(superuserPassword: string): string {
  return createHmac('sha256', superuserPassword).update('waxwing service role').digest('hex')
}

/**
 * Creates the role if it is missing, and makes it the owner of the database. A database of an earlier release, in which
 * the superuser owned everything, is transferred as a whole, once. The caller holds the lock that keeps others from
 * doing the same.
 *
 * @param control a superuser's session
 * @param database the address of the database for the superuser
 */
export async function ensureServiceRole(
  control: Client,
  database: Extract<DatabaseAddress, { password: string }>,
): Promise<void> {
  await createRole(control, servicePassword(database.password))
  // The role needs no other database.
  await control.query('revoke connect on database postgres, template1 from public')
  await handOver(database)
}

async function createRole(control: Client, password: string) {
  try {
    await control.query(`create role ${SERVICE_ROLE} login password ${control.escapeLiteral(password)}`)
  } catch (error) {
    if (!(error instanceof DatabaseError && error.code === DUPLICATE_OBJECT)) throw error
  }
}

async function handOver(address: Extract<DatabaseAddress, { password: string }>) {
  const client = new Client(clientSettings(address, 'waxwing ownership'))
  client.on('error', () => {}) // the running query rejects with the same error
  await client.connect()
  try {
    await client.query('begin')
    await client.query(HAND_OVER)
    await client.query(`alter database ${client.escapeIdentifier(address.database)} owner to ${SERVICE_ROLE}`)
    await client.query('commit')
  } finally {
    await client.end()
  }
}

/**
 * `reassign owned` refuses what the first superuser owns, so each object is altered. Members of extensions stay, and
 * sequences of columns follow their tables.
 */
const HAND_OVER = `do $$
declare
  statement text;
begin
  for statement in
    with ours as (
      select oid, nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema'
    ), dependent as (
      select classid, objid, deptype from pg_depend where deptype in ('a', 'e', 'i')
    )
    select format('alter schema %I owner to ${SERVICE_ROLE}', nspname)
    from ours join pg_namespace using (oid, nspname) where nspowner = '${SUPERUSER}'::regrole
    union all
    select format('alter %s %s owner to ${SERVICE_ROLE}',
      case relkind when 'S' then 'sequence' when 'v' then 'view' when 'm' then 'materialized view' else 'table' end,
      pg_class.oid::regclass)
    from pg_class join ours on ours.oid = relnamespace
    where relowner = '${SUPERUSER}'::regrole and relkind in ('r', 'p', 'v', 'm', 'S')
      and not exists (
        select from dependent where classid = 'pg_class'::regclass and objid = pg_class.oid
          and (deptype = 'e' or relkind = 'S')
      )
    union all
    select format('alter routine %s owner to ${SERVICE_ROLE}', pg_proc.oid::regprocedure)
    from pg_proc join ours on ours.oid = pronamespace
    where proowner = '${SUPERUSER}'::regrole
      and not exists (select from dependent where classid = 'pg_proc'::regclass and objid = pg_proc.oid)
    union all
    select format('alter type %s owner to ${SERVICE_ROLE}', pg_type.oid::regtype)
    from pg_type join ours on ours.oid = typnamespace
    where typowner = '${SUPERUSER}'::regrole
      and (typtype in ('d', 'e', 'r') or exists (select from pg_class where oid = typrelid and relkind = 'c'))
      and not exists (
        select from dependent where classid = 'pg_type'::regclass and objid = pg_type.oid and deptype = 'e'
      )
  loop
    execute statement;
  end loop;
end
$$`
