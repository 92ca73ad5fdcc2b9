import type { Command } from 'commander'
import { assignPlan } from '../features/accounts/plans/assign.ts'
import { changePlan } from '../features/accounts/plans/change.ts'
import { NO_LIMITS } from '../features/tenancy/plans/plan.ts'
import { createPlan, listPlans } from '../features/tenancy/plans/store.ts'
import { CommandError } from './command-error.ts'
import type { Connect } from './connect.ts'
import { NAME_RULE, isName } from './name.ts'
import { addLimitOptions, describePlan, type LimitOptions, limitsOf } from './plan-limits.ts'
import { requirePlan } from './require-plan.ts'
import { requireTenant } from './tenant.ts'

type ChangeOptions = LimitOptions & { json?: boolean }

export function register(program: Command, connect: Connect) {
  const plan = program
    .command('plan')
    .description('plans: limits of tenants; a tenant without a plan has no limits')
  addCreate(plan, connect)
  addUpdate(plan, connect)

  plan
    .command('assign')
    .description('assign a plan to a tenant; every process applies it within 5 seconds')
    .argument('[plan]', 'name of the plan; leave it out together with --none')
    .option('--tenant <name>', 'the tenant that gets the plan', 'default')
    .option('--none', 'remove the plan of the tenant: no limits')
    .action((name: string | undefined, options: { tenant: string; none?: boolean }) =>
      assign(name, options, connect),
    )

  plan
    .command('list')
    .description('list the plans with their tenants, oldest first')
    .option('--json', 'print one line of JSON')
    .action(async ({ json }: { json?: boolean }) => {
      await using connection = await connect()
      const plans = await listPlans(connection.db)
      if (json) console.log(JSON.stringify(plans))
      else for (const each of plans) console.log(describePlan(each))
    })
}

function addCreate(plan: Command, connect: Connect) {
  const create = plan
    .command('create')
    .description('create a plan; limits that are not given do not apply')
    .argument('<name>', '1 to 100 characters, used by no other plan')
  addLimitOptions(create)
    .option('--json', 'print one line of JSON')
    .addHelpText(
      'after',
      `
Examples:
  $ npx waxwing plan create small --api-calls-per-minute 600 --max-accounts 10 --sends-per-day 500 --webhook-endpoints 3
  $ npx waxwing plan create mail-only --modules none
  $ npx waxwing plan create index-only --no-body-storage`,
    )
    .action(async (name: string, options: ChangeOptions) => {
      if (!isName(name)) throw new CommandError(NAME_RULE)
      await using connection = await connect()
      const made = await createPlan(connection.db, name, { ...NO_LIMITS, ...limitsOf(options) })
      if (!made) throw new CommandError(`There is already a plan "${name}". Choose another name.`)
      console.log(options.json ? JSON.stringify(made) : `Created the plan "${name}".`)
    })
}

function addUpdate(plan: Command, connect: Connect) {
  const update = plan
    .command('update')
    .description('change limits of a plan; every process applies them to its tenants within 5 seconds')
    .argument('<name>', 'the plan; limits that are not given stay as they are')
  addLimitOptions(update)
    .option('--json', 'print one line of JSON')
    .addHelpText(
      'after',
      `
A lower limit takes nothing away: accounts and endpoints beyond it stay, and only new ones are refused. But
--no-body-storage sets "bodyStorage" of the plan's tenants and their accounts to "none", which deletes stored bodies.

Examples:
  $ npx waxwing plan update small --max-accounts 25 --sends-per-day unlimited
  $ npx waxwing plan update small --modules calendar,contacts`,
    )
    .action(async (name: string, options: ChangeOptions) => {
      const limits = limitsOf(options)
      if (Object.keys(limits).length === 0)
        throw new CommandError('Name a limit to change. "waxwing plan update --help" lists them.')
      await using connection = await connect()
      const { id } = await requirePlan(connection.db, name)
      const changed = await changePlan(connection.db, id, limits)
      console.log(options.json ? JSON.stringify(changed) : `Changed the plan "${name}".`)
    })
}

async function assign(
  name: string | undefined,
  options: { tenant: string; none?: boolean },
  connect: Connect,
) {
  if ((name === undefined) !== (options.none === true)) {
    throw new CommandError('Name a plan, or use --none instead.')
  }
  await using connection = await connect()
  const { db } = connection
  const tenant = await requireTenant(db, options.tenant)
  const plan = name === undefined ? null : await requirePlan(db, name)
  await assignPlan(db, tenant.id, plan)
  console.log(
    plan
      ? `The tenant "${tenant.name}" has the plan "${plan.name}".`
      : `The tenant "${tenant.name}" has no plan.`,
  )
}
