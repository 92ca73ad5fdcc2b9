import { InvalidArgumentError, type Command, Option } from 'commander'
import type { Module } from '@waxwing/contract/operation.ts'
import { MODULES, type Plan, type PlanLimits } from '../features/tenancy/plans/plan.ts'

const INTEGER_MAX = 2_147_483_647

/** The limits that are numbers, with what they count. */
const NUMBERS = {
  apiCallsPerMinute: { what: 'requests per minute of the whole tenant', min: 1, max: INTEGER_MAX },
  apiCallsPerMinutePerKey: { what: 'requests per minute of one credential', min: 1, max: INTEGER_MAX },
  maxAccounts: { what: 'maximum number of accounts, not counting deleted ones', min: 0, max: INTEGER_MAX },
  sendsPerDay: {
    what: 'maximum number of messages that are queued on one day in UTC',
    min: 0,
    max: INTEGER_MAX,
  },
  webhookEndpoints: {
    what: 'maximum number of webhook endpoints, disabled ones included',
    min: 0,
    max: INTEGER_MAX,
  },
  storageBytes: { what: 'maximum size of stored bodies, in bytes', min: 0, max: Number.MAX_SAFE_INTEGER },
} as const satisfies Partial<Record<keyof PlanLimits, { what: string; min: number; max: number }>>

type NumberName = keyof typeof NUMBERS

/** Limits that the command line names. Commander would make '' of null. */
export interface LimitOptions extends Partial<Record<NumberName, number | 'unlimited'>> {
  modules?: Module[] | 'all'
  bodyStorage?: boolean
}

/** Adds an option for each limit to a command. */
export function addLimitOptions(command: Command): Command {
  for (const [name, { what, min, max }] of Object.entries(NUMBERS)) {
    const flag = name.replaceAll(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)
    command.option(`--${flag} <count>`, `${what}, or unlimited`, limitOf(min, max))
  }
  const modules = `what it includes besides mail, comma-separated, or all or none: ${MODULES.join(', ')}`
  return command
    .option('--modules <list>', modules, readModules)
    .addOption(new Option('--body-storage', 'bodies may be stored'))
    .addOption(new Option('--no-body-storage', 'bodies may not be stored: bodyStorage is "none"'))
}

/** The limits that change. */
export function limitsOf({ bodyStorage, modules, ...numbers }: LimitOptions): Partial<PlanLimits> {
  const names = Object.keys(NUMBERS) as NumberName[]
  const named = names.flatMap(name => {
    const count = numbers[name]
    return count === undefined ? [] : [[name, count === 'unlimited' ? null : count] as const]
  })
  return {
    ...Object.fromEntries(named),
    ...(modules !== undefined && { modules: modules === 'all' ? null : modules }),
    ...(bodyStorage !== undefined && { bodyStorageAllowed: bodyStorage }),
  }
}

/** One line about a plan. */
export function describePlan({ name, limits, tenants }: Plan & { tenants: string[] }): string {
  const notes = [
    ...numbered('API calls per minute', limits.apiCallsPerMinute),
    ...numbered('API calls per minute and key', limits.apiCallsPerMinutePerKey),
    ...numbered('accounts', limits.maxAccounts),
    ...numbered('sends per day', limits.sendsPerDay),
    ...numbered('webhook endpoints', limits.webhookEndpoints),
    ...(limits.bodyStorageAllowed ? numbered('bytes of bodies', limits.storageBytes) : ['no stored bodies']),
    ...(limits.modules === null ? [] : [`modules: ${limits.modules.join(' ') || 'none'}`]),
  ]
  const users = tenants.length > 0 ? `tenants: ${tenants.join(', ')}` : 'no tenants'
  return `${name}  ${notes.length > 0 ? notes.join(', ') : 'no limits'}  ${users}`
}

function numbered(what: string, count: number | null): string[] {
  return count === null ? [] : [`${count} ${what}`]
}

function readModules(text: string): Module[] | 'all' {
  if (text === 'all') return text
  const names = text === 'none' ? [] : text.split(',').map(name => name.trim())
  const modules = MODULES.filter(module => names.includes(module))
  if (modules.length === names.length) return modules
  throw new InvalidArgumentError(`Give all, none, or some of ${MODULES.join(', ')}, each once.`)
}

function limitOf(min: number, max: number) {
  return (text: string): number | 'unlimited' => {
    if (text === 'unlimited') return text
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}, or unlimited.`)
  }
}
