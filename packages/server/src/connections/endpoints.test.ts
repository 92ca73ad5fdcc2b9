import { describe, expect, test } from 'vitest'
import type { HalfKind } from '../accounts/halves/kind.ts'
import type { ReachedAccount } from '../accounts/reach.ts'
import type { ConnectedAccount } from '../providers/connected-account.ts'
import type { ContentProvider } from '../providers/content.ts'
import { ProviderFailure } from '../providers/failure.ts'
import { HostBudget } from './host-budget.ts'
import { SharedConnections } from './shared-connections.ts'

const reached = (kind: HalfKind, version = '1'): ReachedAccount => ({
  id: 'a',
  tenantId: 't',
  provider: 'imap',
  kind,
  version,
})
const mail = reached('mail')
const calendar = reached('calendar')
const READ = { isRepeatable: true }

/** Connections to an account whose kinds of data are read from these endpoints, one step at a time. */
function open(endpoints: Partial<Record<HalfKind, string>>) {
  const opened: string[] = []
  const ended: string[] = []
  const connections = new SharedConnections({
    endpointOf: ({ kind }) => endpoints[kind]!,
    connectorOf: (_, kind) => {
      const host = endpoints[kind]!
      const budget = new HostBudget(10)
      return async () => ({
        version: '1',
        host,
        syncWindowDays: null,
        isOneAtATime: true,
        acquire: signal => budget.acquire(host, signal),
        async connect(signal): Promise<ConnectedAccount> {
          const name = `${host} ${opened.push(host)}`
          signal.addEventListener('abort', () => ended.push(name))
          return {
            // Tests look at the connection only.
            content: { name } as unknown as ContentProvider,
            [Symbol.asyncDispose]: () => Promise.resolve(void ended.push(name)),
          }
        },
      })
    },
  })
  const nameOf = (content: unknown) => (content as { name: string }).name
  return {
    opened,
    ended,
    /** The name of the connection over which the work is done. */
    use: (of: ReachedAccount, work?: () => Promise<unknown>, signal?: AbortSignal) =>
      connections.use(
        of,
        'content',
        async content => {
          await work?.()
          return nameOf(content)
        },
        // A read that waits behind another one for this long fails, in place of the whole test hanging.
        { ...READ, beginsUntil: AbortSignal.timeout(10_000), ...(signal && { signal }) },
      ),
    [Symbol.asyncDispose]: () => connections[Symbol.asyncDispose](),
  }
}

describe('an account whose mail and calendars are on two servers', () => {
  const openTwo = () => open({ mail: 'imap', calendar: 'dav' })

  test('reads calendars while a read of mail hangs, and ends that alone', async () => {
    await using opened = openTwo()
    const [begun, stop] = [Promise.withResolvers<void>(), new AbortController()]
    const hanging = opened.use(
      mail,
      async () => {
        begun.resolve()
        await new Promise(resolve => stop.signal.addEventListener('abort', resolve))
        throw new ProviderFailure('unavailable', 'ended')
      },
      stop.signal,
    )
    await begun.promise
    expect(await opened.use(calendar)).toBe('dav 2')
    stop.abort()
    await expect(hanging).rejects.toMatchObject({ kind: 'unavailable' })
    expect(opened.ended).toContain('imap 1')
    expect(await opened.use(calendar)).toBe('dav 2')
    expect(opened.ended).not.toContain('dav 2')
  })

  test('keeps the connection of its mail when its calendars are reached in another way, or break', async () => {
    await using opened = openTwo()
    expect(await opened.use(mail)).toBe('imap 1')
    expect(await opened.use(calendar)).toBe('dav 2')
    expect(await opened.use(reached('calendar', '2'))).toBe('dav 3')
    const broken = opened.use(reached('calendar', '3'), () =>
      Promise.reject(new ProviderFailure('unavailable', 'lost')),
    )
    await expect(broken).rejects.toMatchObject({ kind: 'unavailable' })
    expect(await opened.use(mail)).toBe('imap 1')
    expect(opened.ended).not.toContain('imap 1')
  })
})

describe('an account whose mail and calendars are on one server', () => {
  const openOne = () => open({ mail: 'api', calendar: 'api' })

  test('shares one connection, in one order', async () => {
    await using opened = openOne()
    const [begun, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await opened.use(calendar)
    await opened.use(mail)
    const order: string[] = []
    const first = opened.use(mail, async () => {
      begun.resolve()
      await done.promise
      order.push('mail')
    })
    await begun.promise
    const second = opened.use(calendar, async () => void order.push('calendar'))
    done.resolve()
    expect(await first).toBe(await second)
    expect(order).toEqual(['mail', 'calendar'])
    expect(await opened.use(mail)).toBe('api 2')
  })

  test('opens another connection once either is reached in another way', async () => {
    await using opened = openOne()
    await opened.use(mail)
    // The calendars may have changed since that connection was opened.
    expect(await opened.use(calendar)).toBe('api 2')
    expect(await opened.use(mail)).toBe('api 2')
    expect(await opened.use(reached('calendar', '2'))).toBe('api 3')
    expect(await opened.use(mail)).toBe('api 3')
    expect(await opened.use(reached('mail', '2'))).toBe('api 4')
    expect(await opened.use(reached('calendar', '2'))).toBe('api 4')
    expect(opened.ended).toEqual(['api 1', 'api 2', 'api 3'])
  })
})
