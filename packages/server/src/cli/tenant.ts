import type { Command } from 'commander'
import {
  type TenantRow,
  createTenant,
  findTenantByName,
  listTenants,
  setPastDue,
} from '../features/tenancy/tenants/store.ts'
import type { Db } from '../database/pool.ts'
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
      const made = await createTenant(connection.db, name, plan)
      if (!made) throw new CommandError(`There is already a tenant "${name}". Choose another name.`)
      if (json) console.log(JSON.stringify(shown(made)))
      else
        console.log(
          `Created the tenant "${name}". Give it a key: npx waxwing key create --tenant ${quoted(name)}`,
        )
    })

  tenant
    .command('past-due')
    .description('refuse new sends and new accounts of a tenant whose payment is overdue, at once')
    .argument('<name>', 'the tenant')
    .option('--off', 'the payment is settled: allow them again')
    .action(async (name: string, { off = false }: { off?: boolean }) => {
      await using connection = await connect()
      const found = await requireTenant(connection.db, name)
      await setPastDue(connection.db, found.id, !off)
      console.log(
        off
          ? `The tenant "${found.name}" may send and connect accounts again.`
          : `New sends and accounts of the tenant "${found.name}" are refused. What is queued is still sent.`,
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
        for (const { id, name, suspendedAt, pastDueAt } of tenants)
          console.log(`${id}  ${name}${suspendedAt ? '  suspended' : ''}${pastDueAt ? '  past due' : ''}`)
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

function shown({ id, name, suspended_at, past_due_at, created_at }: TenantRow) {
  return { id, name, createdAt: created_at, suspendedAt: suspended_at, pastDueAt: past_due_at }
}

function quoted(name: string) {
  return /^[\w.@-]+$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`
}
