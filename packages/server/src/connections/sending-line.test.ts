import { describe, expect, test } from 'vitest'
import type { ReachedAccount } from '../accounts/reach.ts'
import type { ConnectedAccount } from '../providers/connected-account.ts'
import { ProviderFailure } from '../providers/failure.ts'
import type { SendingProvider } from '../providers/sending.ts'
import { HostBudget } from './host-budget.ts'
import { SharedConnections } from './shared-connections.ts'

const account: ReachedAccount = { id: 'a', tenantId: 't', provider: 'imap', kind: 'mail', version: '1' }
const ONCE = { isRepeatable: false }
const lost = () => new ProviderFailure('unavailable', 'lost', { isBeforeAcceptance: true })

class Connection implements ConnectedAccount {
  isOpen = true
  isClosed = false
  readonly number: number
  // Only the connection matters here, not the message.
  readonly sending = { connection: this } as unknown as SendingProvider
  constructor(number: number) {
    this.number = number
  }
  async [Symbol.asyncDispose]() {
    this.isClosed = true
  }
}

function open({ perHost = 10, idleSeconds = 60 } = {}) {
  const made: Connection[] = []
  const budget = new HostBudget(perHost)
  const connections = new SharedConnections({
    connectorOf: () => () => Promise.reject(new Error('not for sending')),
    endpointOf: () => 'imap',
    senderOf: () => async () => ({
      version: '1',
      host: 'mail.test',
      syncWindowDays: null,
      isOneAtATime: true,
      acquire: signal => budget.acquire('mail.test', signal),
      async connect() {
        const connection = new Connection(made.length + 1)
        made.push(connection)
        return connection
      },
    }),
    idleSeconds,
  })
  const use = <T>(work: (connection: Connection) => Promise<T>, of = account, options = ONCE) =>
    connections.use(
      of,
      'sending',
      sending => work((sending as unknown as { connection: Connection }).connection),
      options,
    )
  return { connections, budget, made, use }
}

const numberOf = async ({ number }: Connection) => number

describe('connections for sending', () => {
  test('are three for an account at a time; who comes later waits for one', async () => {
    const { use, made, budget } = open()
    const pauses = [1, 2, 3, 4].map(() => Promise.withResolvers<void>())
    const begun: number[] = []
    const works = pauses.map((pause, index) =>
      use(async () => {
        begun.push(index)
        await pause.promise
      }),
    )
    await new Promise(setImmediate)
    expect([begun, budget.heldCount]).toEqual([[0, 1, 2], 3])
    pauses[1]!.resolve()
    await works[1]
    await new Promise(setImmediate)
    expect(begun).toEqual([0, 1, 2, 3])
    for (const pause of pauses) pause.resolve()
    await Promise.all(works)
    expect(made).toHaveLength(3)
  })

  test('are kept for the next message, but not after a failure, a closing or a change of the account', async () => {
    const { use, made } = open()
    expect([await use(numberOf), await use(numberOf)]).toEqual([1, 1])
    await expect(use(() => Promise.reject(new ProviderFailure('throttled', 'later')))).rejects.toThrow(
      'later',
    )
    expect(made[0]?.isClosed).toBe(true)
    expect(await use(numberOf)).toBe(2)
    made[1]!.isOpen = false
    expect(await use(numberOf)).toBe(3)
    expect(made[1]?.isClosed).toBe(true)
    expect(await use(numberOf, { ...account, version: '2' })).toBe(4)
    expect(made[2]?.isClosed).toBe(true)
  })

  test('repeat the work once if the kept connection broke before anything was accepted', async () => {
    const { use } = open()
    await use(numberOf)
    const seen: number[] = []
    const work = async ({ number }: Connection) => {
      seen.push(number)
      throw lost()
    }
    await expect(use(work)).rejects.toThrow('lost')
    expect(seen).toEqual([1, 2])
    await expect(use(work)).rejects.toThrow('lost')
    expect(seen).toEqual([1, 2, 3])
  })

  test('never repeat work whose outcome is unknown', async () => {
    const { use, made } = open()
    await use(numberOf)
    await expect(use(() => Promise.reject(new ProviderFailure('unavailable', 'lost')))).rejects.toThrow(
      'lost',
    )
    expect(made).toHaveLength(1)
  })

  test('make room for another account of the same host when they are idle', async () => {
    const { use, made, budget } = open({ perHost: 1 })
    await use(numberOf)
    expect(budget.heldCount).toBe(1)
    expect(await use(numberOf, { ...account, id: 'b' })).toBe(2)
    expect(made[0]?.isClosed).toBe(true)
  })

  test('are closed after a while without use', async () => {
    const { use, made, budget } = open({ idleSeconds: 0 })
    await use(numberOf)
    while (budget.heldCount > 0) await new Promise(setImmediate)
    expect(made[0]?.isClosed).toBe(true)
  })

  test('are closed when the service stops, and none is opened any more', async () => {
    const { use, connections, made, budget } = open()
    await use(numberOf)
    await connections[Symbol.asyncDispose]()
    expect([made[0]?.isClosed, budget.heldCount]).toEqual([true, 0])
    await expect(use(numberOf)).rejects.toMatchObject({ isBeforeAcceptance: true })
  })

  test('are not opened for a caller who gave up waiting', async () => {
    const { connections, use, made } = open({ perHost: 1 })
    const pause = Promise.withResolvers<void>()
    const holding = use(() => pause.promise)
    const stop = new AbortController()
    const waiting = connections.use({ ...account, id: 'b' }, 'sending', async () => 1, {
      ...ONCE,
      signal: stop.signal,
    })
    stop.abort()
    await expect(waiting).rejects.toMatchObject({ isBeforeAcceptance: true, isBusy: true })
    pause.resolve()
    await holding
    expect(made).toHaveLength(1)
  })
})
