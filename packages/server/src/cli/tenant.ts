import type { Command } from 'commander'
import {
  type TenantRow,
  createTenant,
  findTenantByName,
  listTenants,
  setLinksOff,
  setPastDue,
  setSuspended,
} from '../features/tenancy/tenants/store.ts'
import type { Db } from '../database/pool.ts'
import { recordOperatorAction } from '../features/tenancy/audit-log/record-rows.ts'
import { changeTenant } from './change-tenant.ts'
import { CommandError } from './command-error.ts'
import type { Connect } from './connect.ts'
import { NAME_RULE, isName } from './name.ts'
import { requirePlan } from './require-plan.ts'

export function register(program: Command, connect: Connect) {
  const tenant = program
    .command('tenant')
    .description('tenants: each has its own accounts, keys and settings')

  tenant
    .command('create')
    .description('create a tenant')
    .argument('<name>', '1 to 100 characters, used by no other tenant')
    .option('--plan <name>', 'assign this plan; without a plan it has no limits')
    .option('--json', 'print one line of JSON')
    .action(async (name: string, { json, plan: planName }: { json?: boolean; plan?: string }) => {
      if (!isName(name)) throw new CommandError(NAME_RULE)
      await using connection = await connect()
      const plan = planName === undefined ? null : await requirePlan(connection.db, planName)
      const made = await connection.db.transaction().execute(async tx => {
        const row = await createTenant(tx, name, plan)
        const action = 'tenant.create'
        if (row) await recordOperatorAction(tx, { tenantId: row.id, action, targets: { tenantId: row.id } })
        return row
      })
      if (!made) throw new CommandError(`There is already a tenant "${name}". Choose another name.`)
      if (json) console.log(JSON.stringify(shown(made)))
      else
        console.log(
          `Created the tenant "${name}". Give it a key: npx waxwing key create --tenant ${quoted(name)}`,
        )
    })

  tenant
    .command('suspend')
    .description('lock a tenant out: its credentials are refused, and everything of it stops, within seconds')
    .argument('<name>', 'the tenant')
    .addHelpText(
      'after',
      `
Calls answer 401. Accounts are not followed, messages that are queued and webhooks wait, and nothing is deleted. Links in
mail that was sent still work. "waxwing tenant resume" lets everything go on where it stopped.`,
    )
    .action(async (name: string) => {
      await using connection = await connect()
      const found = await requireTenant(connection.db, name)
      await changeTenant(connection.db, { tenantId: found.id, action: 'tenant.suspend' }, tx =>
        setSuspended(tx, found.id, true),
      )
      console.log(`Suspended the tenant "${found.name}".`)
    })

  tenant
    .command('resume')
    .description('let a suspended tenant go on where it stopped')
    .argument('<name>', 'the tenant')
    .action(async (name: string) => {
      await using connection = await connect()
      const found = await requireTenant(connection.db, name)
      await changeTenant(connection.db, { tenantId: found.id, action: 'tenant.resume' }, tx =>
        setSuspended(tx, found.id, false),
      )
      console.log(`Resumed the tenant "${found.name}". Its accounts are followed again within a minute.`)
    })

  tenant
    .command('past-due')
    .description('refuse new sends and new accounts of a tenant whose payment is overdue, at once')
    .argument('<name>', 'the tenant')
    .option('--off', 'the payment is settled: allow them again')
    .action(async (name: string, { off = false }: { off?: boolean }) => {
      await using connection = await connect()
      const found = await requireTenant(connection.db, name)
      const action = off ? 'tenant.paid' : 'tenant.past_due'
      await changeTenant(connection.db, { tenantId: found.id, action }, tx => setPastDue(tx, found.id, !off))
      console.log(
        off
          ? `The tenant "${found.name}" may send and connect accounts again.`
          : `New sends and accounts of the tenant "${found.name}" are refused. What is queued is still sent.`,
      )
    })

  tenant
    .command('links')
    .description('turn tracked links of a tenant on again, or off: those in its mail then answer 404')
    .argument('<name>', 'the tenant')
    .option('--off', 'answer 404 to links and pixels of its messages, and make no new ones')
    .action(async (name: string, { off = false }: { off?: boolean }) => {
      await using connection = await connect()
      const found = await requireTenant(connection.db, name)
      const action = off ? 'tenant.links_off' : 'tenant.links_on'
      await changeTenant(connection.db, { tenantId: found.id, action }, tx => setLinksOff(tx, found.id, off))
      console.log(
        off
          ? `Tracked links of the tenant "${found.name}" answer 404, and none are made. Unsubscribe links still work.`
          : `Tracked links of the tenant "${found.name}" work.`,
      )
    })

  tenant
    .command('list')
    .description('list the tenants, oldest first')
    .option('--json', 'print one line of JSON')
    .action(async ({ json }: { json?: boolean }) => {
      await using connection = await connect()
      const tenants = (await listTenants(connection.db)).map(shown)
      if (json) console.log(JSON.stringify(tenants))
      else
        for (const { id, name, ...since } of tenants)
          console.log([`${id}  ${name}`, ...marksOf(since)].join('  '))
    })
}

/** The tenant of that name, or a refusal that says how to create it. */
export async function requireTenant(db: Db, name: string): Promise<TenantRow> {
  const tenant = await findTenantByName(db, name)
  if (tenant) return tenant
  throw new CommandError(
    `There is no tenant "${name}". See "waxwing tenant list", or create it with "waxwing tenant create".`,
  )
}

function shown({ id, name, suspended_at, past_due_at, links_off_at, created_at }: TenantRow) {
  return {
    id,
    name,
    createdAt: created_at,
    suspendedAt: suspended_at,
    pastDueAt: past_due_at,
    linksOffAt: links_off_at,
  }
}

function marksOf({
  suspendedAt,
  pastDueAt,
  linksOffAt,
}: Pick<ReturnType<typeof shown>, 'suspendedAt' | 'pastDueAt' | 'linksOffAt'>): string[] {
  const marks: Array<[Date | null, string]> = [
    [suspendedAt, 'suspended'],
    [pastDueAt, 'past due'],
    [linksOffAt, 'links off'],
  ]
  return marks.flatMap(([since, mark]) => (since ? [mark] : []))
}

function quoted(name: string) {
  return /^[\w.@-]+$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`
}
