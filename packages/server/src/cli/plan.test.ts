import { Command } from 'commander'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import type { Config } from '../config.ts'
import { findPlanByName, findTenantPlan } from '../features/tenancy/plans/store.ts'
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
  return { run, planOf, db, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() }
}

describe('waxwing plan', () => {
  test('creates plans with the given limits, and lists them with their tenants', async () => {
    await using line = await openCommandLine()
    await line.run('tenant', 'create', 'acme')
    await line.run('plan', 'create', 'free')
    const limits =
      '--api-calls-per-minute 600 --api-calls-per-minute-per-key 60 --max-accounts 0 --storage-bytes 5000000000 --sends-per-day 100 --webhook-endpoints 7'
    await line.run('plan', 'create', 'small', ...limits.split(' '), '--no-body-storage')
    await line.run('plan', 'assign', 'small', '--tenant', 'acme')

    const none = {
      apiCallsPerMinute: null,
      apiCallsPerMinutePerKey: null,
      maxAccounts: null,
      storageBytes: null,
      sendsPerDay: null,
      webhookEndpoints: null,
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
          webhookEndpoints: 7,
          modules: null,
        },
        tenants: ['acme'],
      },
    ])
    expect(await line.run('plan', 'list')).toBe(
      'free  no limits  no tenants\n' +
        'small  600 API calls per minute, 60 API calls per minute and key, 0 accounts, 100 sends per day, 7 webhook endpoints, no stored bodies  tenants: acme',
    )
  })

  test('changes the limits that are named, and no others', async () => {
    await using line = await openCommandLine()
    const words = '--max-accounts 3 --sends-per-day 100 --modules calendar,contacts'.split(' ')
    const made = JSON.parse(await line.run('plan', 'create', 'small', ...words, '--json'))
    const change = async (...options: string[]) => {
      const changed = JSON.parse(await line.run('plan', 'update', 'small', ...options, '--json'))
      expect(JSON.parse(await line.run('plan', 'list', '--json'))).toEqual([{ ...changed, tenants: [] }])
      expect(changed).toMatchObject({ id: made.id, name: 'small' })
      return changed.limits
    }
    const limits = { ...made.limits, maxAccounts: null, webhookEndpoints: 0 }
    expect(await change('--max-accounts', 'unlimited', '--webhook-endpoints', '0')).toEqual(limits)
    expect(await change('--modules', 'ai,tracking')).toEqual({ ...limits, modules: ['tracking', 'ai'] })
    expect(await change('--modules', 'none')).toEqual({ ...limits, modules: [] })
    expect(await change('--modules', 'all', '--no-body-storage')).toEqual({
      ...limits,
      modules: null,
      bodyStorageAllowed: false,
    })
    expect(await change('--body-storage', '--api-calls-per-minute', '60')).toEqual({
      ...limits,
      modules: null,
      apiCallsPerMinute: 60,
    })
    expect(await line.run('plan', 'update', 'small', '--sends-per-day', 'unlimited')).toBe(
      'Changed the plan "small".',
    )
  })

  test('suspends a tenant and resumes it', async () => {
    await using line = await openCommandLine()
    await line.run('tenant', 'create', 'acme')
    expect(await line.run('tenant', 'suspend', 'acme')).toBe('Suspended the tenant "acme".')
    const [first] = JSON.parse(await line.run('tenant', 'list', '--json'))
    await line.run('tenant', 'suspend', 'acme')
    expect(JSON.parse(await line.run('tenant', 'list', '--json'))).toEqual([first])
    expect(await line.run('tenant', 'list')).toMatch(/acme {2}suspended$/)
    await line.run('tenant', 'resume', 'acme')
    expect(JSON.parse(await line.run('tenant', 'list', '--json'))).toMatchObject([{ suspendedAt: null }])
    for (const verb of ['suspend', 'resume'])
      await expect(line.run('tenant', verb, 'nobody')).rejects.toThrow('waxwing tenant list')
  })

  test('writes a row of the audit log for each change of a tenant, and none for what is refused', async () => {
    await using line = await openCommandLine()
    await line.run('plan', 'create', 'small')
    await line.run('tenant', 'create', 'acme')
    for (const words of [
      ['tenant', 'suspend', 'acme'],
      ['tenant', 'resume', 'acme'],
      ['tenant', 'past-due', 'acme'],
      ['tenant', 'past-due', 'acme', '--off'],
      ['tenant', 'links', 'acme', '--off'],
      ['tenant', 'links', 'acme'],
      ['plan', 'assign', 'small', '--tenant', 'acme'],
      ['plan', 'update', 'small', '--max-accounts', '3'],
      ['plan', 'assign', '--none', '--tenant', 'acme'],
      ['plan', 'update', 'small', '--max-accounts', '4'],
    ])
      await line.run(...words)
    await expect(line.run('tenant', 'create', 'acme')).rejects.toThrow('already')
    const rows = await line.db
      .selectFrom('audit_open')
      .select(['action', 'actor_type', 'surface', 'status', 'targets'])
      .orderBy('id')
      .execute()
    const tenantId = (await findTenantByName(line.db, 'acme'))?.id
    const planId = (await findPlanByName(line.db, 'small'))?.id
    const row = (action: string, targets: object = { tenantId }) => ({
      action,
      targets,
      actor_type: 'operator',
      surface: 'cli',
      status: 200,
    })
    expect(rows).toEqual([
      row('tenant.create'),
      row('tenant.suspend'),
      row('tenant.resume'),
      row('tenant.past_due'),
      row('tenant.paid'),
      row('tenant.links_off'),
      row('tenant.links_on'),
      row('plan.assign', { tenantId, planId }),
      row('plan.update', { tenantId, planId }),
      row('plan.assign'),
    ])
  })

  test('records that a payment of a tenant is overdue, and that it is settled', async () => {
    await using line = await openCommandLine()
    await line.run('tenant', 'create', 'acme')
    await line.run('tenant', 'past-due', 'acme')
    expect(await line.run('tenant', 'list')).toMatch(/acme {2}past due$/)
    await line.run('tenant', 'past-due', 'acme', '--off')
    expect(JSON.parse(await line.run('tenant', 'list', '--json'))).toMatchObject([{ pastDueAt: null }])
    await expect(line.run('tenant', 'past-due', 'nobody')).rejects.toThrow('waxwing tenant list')
  })

  test('turns tracked links of a tenant off, and on again', async () => {
    await using line = await openCommandLine()
    await line.run('tenant', 'create', 'acme')
    await line.run('tenant', 'links', 'acme', '--off')
    expect(await line.run('tenant', 'list')).toMatch(/acme {2}links off$/)
    await line.run('tenant', 'links', 'acme')
    expect(JSON.parse(await line.run('tenant', 'list', '--json'))).toMatchObject([{ linksOffAt: null }])
    await expect(line.run('tenant', 'links', 'nobody')).rejects.toThrow('waxwing tenant list')
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
    [
      'a change of a plan that does not exist',
      ['update', 'huge', '--max-accounts', '1'],
      'waxwing plan list',
    ],
    ['a change without a limit', ['update', 'small'], '--help'],
  ])('refuses %s and says what to do', async (_, words, remedy) => {
    await using line = await openCommandLine()
    await line.run('plan', 'create', 'small')
    await line.run('tenant', 'create', 'acme')
    const refused = line.run('plan', ...words)
    await expect(refused).rejects.toThrow(CommandError)
    await expect(refused).rejects.toThrow(remedy)
    expect(await line.planOf('acme')).toBeNull()
  })

  test.each(['', 'mail', 'calendar,', 'calendar,calendar', 'none,ai'])(
    'refuses %j as modules',
    async modules => {
      await using line = await openCommandLine()
      await expect(line.run('plan', 'create', 'x', `--modules=${modules}`)).rejects.toThrow('sharedMailboxes')
      expect(await line.run('plan', 'list')).toBe('')
    },
  )

  test.each(['0', '-1', '1.5', 'many', '2147483648'])('refuses %s as a number of calls', async count => {
    await using line = await openCommandLine()
    await expect(line.run('plan', 'create', 'x', `--api-calls-per-minute=${count}`)).rejects.toThrow(
      'whole number',
    )
  })
})
