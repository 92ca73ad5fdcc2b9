import type { Module } from '@waxwing/contract/operation.ts'
import { type Command, InvalidArgumentError } from 'commander'
import { assignPlan } from '../features/accounts/plans/assign.ts'
import { MODULES, type Plan } from '../features/tenancy/plans/plan.ts'
import { createPlan, listPlans } from '../features/tenancy/plans/store.ts'
import { CommandError } from './command-error.ts'
import type { Connect } from './connect.ts'
import { NAME_RULE, isName } from './name.ts'
import { requirePlan } from './require-plan.ts'
import { requireTenant } from './tenant.ts'

interface CreateOptions {
  apiCallsPerMinute?: number
  apiCallsPerMinutePerKey?: number
  maxAccounts?: number
  storageBytes?: number
  sendsPerDay?: number
  modules?: Module[]
  bodyStorage: boolean
  json?: boolean
}

const INTEGER_MAX = 2_147_483_647

export function register(program: Command, connect: Connect) {
  const plan = program
    .command('plan')
    .description('plans: limits of tenants; a tenant without a plan has no limits')

  plan
    .command('create')
    .description('create a plan; limits that are not given do not apply')
    .argument('<name>', '1 to 100 characters, used by no other plan')
    .option(
      '--api-calls-per-minute <count>',
      'requests per minute of the whole tenant',
      integerOf(1, INTEGER_MAX),
    )
    .option(
      '--api-calls-per-minute-per-key <count>',
      'requests per minute of one credential',
      integerOf(1, INTEGER_MAX),
    )
    .option(
      '--max-accounts <count>',
      'maximum number of accounts, not counting deleted ones',
      integerOf(0, INTEGER_MAX),
    )
    .option(
      '--sends-per-day <count>',
      'maximum number of messages that are queued on one day in UTC',
      integerOf(0, INTEGER_MAX),
    )
    .option(
      '--storage-bytes <count>',
      'maximum size of stored bodies, in bytes',
      integerOf(0, Number.MAX_SAFE_INTEGER),
    )
    .option(
      '--modules <list>',
      `what it includes besides mail, comma-separated, or none: ${MODULES.join(', ')}`,
      readModules,
    )
    .option('--no-body-storage', 'bodies may not be stored: bodyStorage is "none"')
    .option('--json', 'print one line of JSON')
    .addHelpText(
      'after',
      `
Examples:
  $ npx waxwing plan create small --api-calls-per-minute 600 --api-calls-per-minute-per-key 300 --max-accounts 10
  $ npx waxwing plan create index-only --no-body-storage`,
    )
    .action((name: string, options: CreateOptions) => create(name, options, connect))

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
      else for (const each of plans) console.log(describe(each))
    })
}

async function create(name: string, options: CreateOptions, connect: Connect) {
  if (!isName(name)) throw new CommandError(NAME_RULE)
  await using connection = await connect()
  const made = await createPlan(connection.db, name, {
    apiCallsPerMinute: options.apiCallsPerMinute ?? null,
    apiCallsPerMinutePerKey: options.apiCallsPerMinutePerKey ?? null,
    maxAccounts: options.maxAccounts ?? null,
    bodyStorageAllowed: options.bodyStorage,
    storageBytes: options.storageBytes ?? null,
    sendsPerDay: options.sendsPerDay ?? null,
    modules: options.modules ?? null,
  })
  if (!made) throw new CommandError(`There is already a plan "${name}". Choose another name.`)
  console.log(options.json ? JSON.stringify(made) : `Created the plan "${name}".`)
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

function describe({ name, limits, tenants }: Plan & { tenants: string[] }): string {
  const notes = [
    ...numbered('API calls per minute', limits.apiCallsPerMinute),
    ...numbered('API calls per minute and key', limits.apiCallsPerMinutePerKey),
    ...numbered('accounts', limits.maxAccounts),
    ...numbered('sends per day', limits.sendsPerDay),
    ...(limits.bodyStorageAllowed ? numbered('bytes of bodies', limits.storageBytes) : ['no stored bodies']),
    ...(limits.modules === null ? [] : [`modules: ${limits.modules.join(' ') || 'none'}`]),
  ]
  const users = tenants.length > 0 ? `tenants: ${tenants.join(', ')}` : 'no tenants'
  return `${name}  ${notes.length > 0 ? notes.join(', ') : 'no limits'}  ${users}`
}

function numbered(what: string, count: number | null): string[] {
  return count === null ? [] : [`${count} ${what}`]
}

function readModules(text: string): Module[] {
  const names = text === 'none' ? [] : text.split(',').map(name => name.trim())
  const modules = MODULES.filter(module => names.includes(module))
  if (modules.length === names.length) return modules
  throw new InvalidArgumentError(`Give none, or some of ${MODULES.join(', ')}, each once.`)
}

function integerOf(min: number, max: number) {
  return (text: string): number => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}.`)
  }
}
