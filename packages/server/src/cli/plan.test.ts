import { Command } from 'commander'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import type { Config } from '../config.ts'
import { findTenantPlan } from '../features/tenancy/plans/store.ts'
import { findTenantByName } from '../features/tenancy/tenants/store.ts'
import { environmentKeyRing } from '../kit/key-ring.ts'
import { CommandError } from './command-error.ts'
import { register as registerPlan } from './plan.ts'
import { register as registerTenant } from './tenant.ts'

afterEach(() => vi.restoreAllMocks())

/** A command line on an empty, migrated database. `run` returns what was printed. */
async function openCommandLine() {
  const database = await openTestDatabase()
  const { db } = database
  const keyRing = environmentKeyRing(Buffer.alloc(32, 3).toString('base64'))
  async function run(...words: string[]): Promise<string> {
    const program = new Command().exitOverride().configureOutput({ writeErr: () => {} })
    // These commands read no setting.
    const connect = () =>
      Promise.resolve({ db, keyRing, config: {} as Config, [Symbol.asyncDispose]: () => Promise.resolve() })
    registerTenant(program, connect)
    registerPlan(program, connect)
    for (const command of program.commands.flatMap(one => [one, ...one.commands])) command.exitOverride()
    const printed = vi.spyOn(console, 'log').mockImplementation(() => {})
    await program.parseAsync(words, { from: 'user' })
    const text = printed.mock.calls.map(([line]) => String(line)).join('\n')
    printed.mockRestore()
    return text
  }
  async function planOf(tenant: string) {
    const found = await findTenantByName(db, tenant)
    return (await findTenantPlan(db, found?.id ?? ''))?.name ?? null
  }
  return { run, planOf, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() }
}

describe('waxwing plan', () => {
  test('creates plans with the given limits, and lists them with their tenants', async () => {
    await using line = await openCommandLine()
    await line.run('tenant', 'create', 'acme')
    await line.run('plan', 'create', 'free')
    const limits =
      '--api-calls-per-minute 600 --api-calls-per-minute-per-key 60 --max-accounts 0 --storage-bytes 5000000000 --sends-per-day 100'
    await line.run('plan', 'create', 'small', ...limits.split(' '), '--no-body-storage')
    await line.run('plan', 'assign', 'small', '--tenant', 'acme')

    const none = {
      apiCallsPerMinute: null,
      apiCallsPerMinutePerKey: null,
      maxAccounts: null,
      storageBytes: null,
      sendsPerDay: null,
      modules: null,
    }
    expect(JSON.parse(await line.run('plan', 'list', '--json'))).toMatchObject([
      { name: 'free', limits: { ...none, bodyStorageAllowed: true }, tenants: [] },
      {
        name: 'small',
        limits: {
          apiCallsPerMinute: 600,
          apiCallsPerMinutePerKey: 60,
          maxAccounts: 0,
          bodyStorageAllowed: false,
          storageBytes: 5_000_000_000,
          sendsPerDay: 100,
          modules: null,
        },
        tenants: ['acme'],
      },
    ])
    expect(await line.run('plan', 'list')).toBe(
      'free  no limits  no tenants\n' +
        'small  600 API calls per minute, 60 API calls per minute and key, 0 accounts, 100 sends per day, no stored bodies  tenants: acme',
    )
  })

  test('says that a payment of a tenant is overdue, and that it is settled', async () => {
    await using line = await openCommandLine()
    await line.run('tenant', 'create', 'acme')
    await line.run('tenant', 'past-due', 'acme')
    expect(await line.run('tenant', 'list')).toMatch(/acme {2}past due$/)
    await line.run('tenant', 'past-due', 'acme', '--off')
    expect(JSON.parse(await line.run('tenant', 'list', '--json'))).toMatchObject([{ pastDueAt: null }])
    await expect(line.run('tenant', 'past-due', 'nobody')).rejects.toThrow('waxwing tenant list')
  })

  test('assigns a plan to a tenant and removes it again', async () => {
    await using line = await openCommandLine()
    await line.run('plan', 'create', 'small')
    await line.run('tenant', 'create', 'acme', '--plan', 'small')
    expect(await line.planOf('acme')).toBe('small')

    await line.run('plan', 'assign', '--none', '--tenant', 'acme')
    expect(await line.planOf('acme')).toBeNull()
    await line.run('plan', 'assign', 'small', '--tenant', 'acme')
    expect(await line.planOf('acme')).toBe('small')
  })

  test.each([
    ['a plan that does not exist', ['assign', 'huge', '--tenant', 'acme'], 'waxwing plan list'],
    ['a tenant that does not exist', ['assign', 'small', '--tenant', 'nobody'], 'waxwing tenant list'],
    ['neither a plan nor --none', ['assign', '--tenant', 'acme'], '--none'],
    ['both a plan and --none', ['assign', 'small', '--none', '--tenant', 'acme'], '--none'],
    ['a name that is taken', ['create', 'small'], 'another name'],
    ['a name with control characters', ['create', 'a\nb'], 'control characters'],
  ])('refuses %s and says what to do', async (_, words, remedy) => {
    await using line = await openCommandLine()
    await line.run('plan', 'create', 'small')
    await line.run('tenant', 'create', 'acme')
    const refused = line.run('plan', ...words)
    await expect(refused).rejects.toThrow(CommandError)
    await expect(refused).rejects.toThrow(remedy)
    expect(await line.planOf('acme')).toBeNull()
  })

  test.each(['0', '-1', '1.5', 'many', '2147483648'])('refuses %s as a number of calls', async count => {
    await using line = await openCommandLine()
    await expect(line.run('plan', 'create', 'x', `--api-calls-per-minute=${count}`)).rejects.toThrow(
      'whole number',
    )
  })
})
