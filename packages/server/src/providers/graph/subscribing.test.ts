import { beforeEach, describe, expect, test } from 'vitest'
import { Secret } from '../../kit/secret.ts'
import { within } from '../../kit/within.ts'
import { ProviderFailure } from '../failure.ts'
import type { StoredSubscription } from '../kept-subscription.ts'
import type { AskOptions, GraphApi, GraphRequest } from './api.ts'
import { openSubscribing } from './subscribing.ts'
import type { SubscriptionPlan } from './subscription.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const NEVER = new AbortController().signal

type Answer = { id?: string; expirationDateTime: string } | ProviderFailure

/** A mailbox whose Graph grants a day by default. */
function arrange() {
  const world = {
    now: Date.parse('2026-03-01T10:00:00Z'),
    stored: null as StoredSubscription | null,
    isFollowed: true,
    isMoved: false,
    reads: 0,
    requests: [] as Array<{ method: string; path: string; json: Record<string, unknown> }>,
    answers: [] as Answer[],
    renewals: 0,
    refusal: null as ProviderFailure | null,
    /** Holds up answers, but not what was asked for. */
    held: null as Promise<void> | null,
  }
  const askRoot = async <T>({ method, path, json, schema }: GraphRequest<T>, { signal }: AskOptions = {}) => {
    world.requests.push({ method: method!, path, json: json as Record<string, unknown> })
    if (method === 'DELETE') return { status: 204, value: schema.parse(undefined) }
    const expirationDateTime = new Date(world.now + DAY).toISOString()
    if (world.held) await within(signal ?? NEVER, world.held)
    const answer = world.answers.shift() ?? { id: `s${world.requests.length}`, expirationDateTime }
    if (answer instanceof ProviderFailure) throw answer
    return { status: method === 'POST' ? 201 : 200, value: schema.parse(answer) }
  }
  const plan: SubscriptionPlan = {
    notificationUrl: 'https://mail.example.com/push/graph',
    lifecycleUrl: 'https://mail.example.com/push/graph/lifecycle',
    newState() {
      const nonce = String(world.requests.length).padStart(16, '0')
      return { nonce, clientState: `state of ${nonce}` }
    },
    read: async () => {
      world.reads++
      return world.stored
    },
    leadsHere: () => !world.isMoved,
    async record(kept, takenEvent) {
      if (!world.isFollowed) return false
      const event = world.stored?.nonce === kept.nonce ? world.stored.event : null
      world.stored = { ...kept, event: event === takenEvent ? null : event }
      return true
    },
    async forget({ nonce }) {
      if (world.stored?.nonce === nonce) world.stored = null
    },
  }
  const tokens = {
    get: async () => new Secret('one'),
    renew: async () => {
      world.renewals++
      if (world.refusal) throw world.refusal
      return new Secret('two')
    },
  }
  const api: Pick<GraphApi, 'askRoot' | 'now'> = { askRoot, now: () => world.now }
  const open = () => openSubscribing(api, { resource: 'users/user 1/messages', plan, tokens })
  return { world, open, subscribing: open(), methods: () => world.requests.map(({ method }) => method) }
}

let arranged: ReturnType<typeof arrange>
beforeEach(() => void (arranged = arrange()))

test('makes a subscription to the messages of the user, for nearly the longest life, since clocks differ', async () => {
  const { world, subscribing } = arranged
  expect(subscribing.isPushed).toBe(false)
  await subscribing.keep(NEVER)
  expect(subscribing.isPushed).toBe(true)
  expect(world.requests).toEqual([
    {
      method: 'POST',
      path: 'subscriptions',
      json: {
        changeType: 'created,updated,deleted',
        notificationUrl: 'https://mail.example.com/push/graph',
        lifecycleNotificationUrl: 'https://mail.example.com/push/graph/lifecycle',
        resource: 'users/user 1/messages',
        clientState: `state of ${world.stored?.nonce}`,
        expirationDateTime: '2026-03-08T09:50:00.000Z',
      },
    },
  ])
  expect(world.stored).toMatchObject({
    id: 's1',
    nonce: expect.stringMatching(/^[0-9a-f]{16}$/),
    expiresAt: new Date('2026-03-02T10:00:00Z'),
    renewAt: new Date('2026-03-01T22:00:00Z'),
    event: null,
  })
})

test('deletes the one that it made while the account was paused or deleted', async () => {
  const { world, subscribing } = arranged
  world.isFollowed = false
  await subscribing.keep(NEVER)
  expect(subscribing.isPushed).toBe(false)
  expect(world.requests.map(({ method, path }) => [method, path])).toEqual([
    ['POST', 'subscriptions'],
    ['DELETE', 'subscriptions/s1'],
  ])
})

test('keeps the one that was being made when a look ended, and makes no other', async () => {
  const { world, subscribing, methods } = arranged
  const answered = Promise.withResolvers<void>()
  world.held = answered.promise
  const look = new AbortController()
  const kept = subscribing.keep(look.signal)
  while (world.requests.length === 0) await Promise.resolve()
  look.abort()
  await kept
  expect(subscribing.isPushed).toBe(false)
  const keptAgain = subscribing.keep(NEVER)
  answered.resolve()
  await keptAgain
  expect(methods()).toEqual(['POST'])
  expect(world.stored).toMatchObject({ id: 's1' })
  expect(subscribing.isPushed).toBe(true)
})

test('asks nothing while it is not due, renews at half of what was granted, and keeps the nonce', async () => {
  const { world, subscribing, methods } = arranged
  await subscribing.keep(NEVER)
  const { nonce } = world.stored!
  world.now += DAY / 2 - MINUTE
  await subscribing.keep(NEVER)
  expect(methods()).toEqual(['POST'])
  world.now += 2 * MINUTE
  await subscribing.keep(NEVER)
  expect(world.requests.at(-1)).toMatchObject({ method: 'PATCH', path: 'subscriptions/s1' })
  expect(world.stored).toMatchObject({ id: 's1', nonce, expiresAt: new Date(world.now + DAY) })
})

test('goes on with a subscription that was stored, and makes another one for one that is over', async () => {
  const { world, subscribing, open, methods } = arranged
  await subscribing.keep(NEVER)
  await open().keep(NEVER)
  expect(methods()).toEqual(['POST'])
  world.now += 2 * DAY
  await open().keep(NEVER)
  expect(methods()).toEqual(['POST', 'POST'])
})

describe('once the service has another address', () => {
  beforeEach(async () => {
    await arranged.subscribing.keep(NEVER)
    arranged.world.isMoved = true
  })

  test('makes another one, and deletes the former one', async () => {
    const { world, open } = arranged
    const subscribing = open()
    await subscribing.keep(NEVER)
    expect(world.requests.slice(1).map(({ method, path }) => [method, path])).toEqual([
      ['POST', 'subscriptions'],
      ['DELETE', 'subscriptions/s1'],
    ])
    expect(world.stored?.id).toBe('s2')
    expect(subscribing.isPushed).toBe(true)
  })

  test('polls and keeps the former one while Graph refuses another one', async () => {
    const { world, open, methods } = arranged
    const subscribing = open()
    world.answers.push(new ProviderFailure('rejected', 'The address does not answer'))
    await subscribing.keep(NEVER)
    expect(subscribing.isPushed).toBe(false)
    expect(subscribing.problem).toMatch(/The address does not answer/)
    expect(methods()).toEqual(['POST', 'POST'])
    expect(world.stored?.id).toBe('s1')
  })
})

test.each(['not_found', 'forbidden', 'rejected'] as const)(
  'makes another one if a renewal is refused (%s)',
  async kind => {
    const { world, subscribing, methods } = arranged
    await subscribing.keep(NEVER)
    world.now += DAY / 2
    world.answers.push(new ProviderFailure(kind, 'no'))
    await subscribing.keep(NEVER)
    expect(methods()).toEqual(['POST', 'PATCH', 'POST'])
    expect(world.stored?.id).toBe('s3')
  },
)

test('shows why a subscription is refused, and asks again after an hour', async () => {
  const { world, subscribing, methods } = arranged
  world.answers.push(new ProviderFailure('rejected', 'The address does not answer'))
  await subscribing.keep(NEVER)
  expect(subscribing.isPushed).toBe(false)
  expect(subscribing.problem).toMatch(/The address does not answer/)
  world.now += 59 * MINUTE
  await subscribing.keep(NEVER)
  expect(methods()).toEqual(['POST'])
  world.now += MINUTE
  await subscribing.keep(NEVER)
  expect(subscribing.problem).toBeNull()
  expect(subscribing.isPushed).toBe(true)
})

test('asks again after a minute, or later if it is told so, when Graph cannot be reached', async () => {
  const { world, subscribing, methods } = arranged
  world.answers.push(new ProviderFailure('unavailable', 'no'))
  world.answers.push(new ProviderFailure('throttled', 'no', { retryAfterSeconds: 300 }))
  await subscribing.keep(NEVER)
  expect(subscribing.problem).toBeNull()
  world.now += MINUTE
  await subscribing.keep(NEVER)
  world.now += 4 * MINUTE
  await subscribing.keep(NEVER)
  expect(methods()).toEqual(['POST', 'POST'])
})

test('throws failures of the account', async () => {
  const { world, subscribing } = arranged
  world.answers.push(new ProviderFailure('grant_refused', 'no'))
  await expect(subscribing.keep(NEVER)).rejects.toMatchObject({ kind: 'grant_refused' })
})

test('takes a life that is over when it is granted for a refusal', async () => {
  const { world, subscribing } = arranged
  world.answers.push({ id: 's', expirationDateTime: new Date(world.now).toISOString() })
  await subscribing.keep(NEVER)
  expect(subscribing.isPushed).toBe(false)
  expect(world.stored).toBeNull()
})

describe('after an event', () => {
  const note = (event: StoredSubscription['event']) => {
    arranged.world.stored = { ...arranged.world.stored!, event }
  }
  beforeEach(() => arranged.subscribing.keep(NEVER))

  test('of none, does nothing', async () => {
    expect(await arranged.subscribing.noted()).toBe('nothing')
  })

  test('that notifications were missed, wants a pass once', async () => {
    note('missed')
    expect(await arranged.subscribing.noted()).toBe('pass')
    expect(await arranged.subscribing.noted()).toBe('nothing')
    expect(arranged.world.stored).toMatchObject({ id: 's1', event: null })
    expect(arranged.world.renewals).toBe(0)
  })

  test('that asks for an authorization, renews at once', async () => {
    const { world, subscribing, methods } = arranged
    note('reauthorize')
    expect(await subscribing.noted()).toBe('nothing')
    await subscribing.keep(NEVER)
    expect(methods()).toEqual(['POST', 'PATCH'])
    expect(world.stored).toMatchObject({ id: 's1', event: null })
  })

  test('that the subscription was removed, tries the grant and makes another one', async () => {
    const { world, subscribing, methods } = arranged
    note('removed')
    expect(await subscribing.noted()).toBe('pass')
    expect(world.renewals).toBe(1)
    await subscribing.keep(NEVER)
    expect(methods()).toEqual(['POST', 'POST'])
    expect(world.stored?.id).toBe('s2')
  })

  test.each(['access_refused', 'unavailable', 'throttled'] as const)(
    'of a removal, goes on if the trial of the grant proves nothing (%s)',
    async kind => {
      const { world, subscribing } = arranged
      note('removed')
      world.refusal = new ProviderFailure(kind, 'no')
      expect(await subscribing.noted()).toBe('pass')
      expect(world.stored).toBeNull()
    },
  )

  test('of a removal, fails with the account if its grant is refused', async () => {
    const { world, subscribing } = arranged
    note('removed')
    world.refusal = new ProviderFailure('grant_refused', 'no')
    await expect(subscribing.noted()).rejects.toMatchObject({ kind: 'grant_refused' })
  })

  test('that came while nothing followed the account, acts when it is followed again', async () => {
    const { world, open } = arranged
    note('removed')
    await open().keep(NEVER)
    expect(world.renewals).toBe(1)
    expect(world.stored?.id).toBe('s2')
  })

  test('that was acted upon before anybody asked, wants a pass once', async () => {
    note('missed')
    await arranged.subscribing.keep(NEVER)
    expect(arranged.world.stored).toMatchObject({ id: 's1', event: null })
    expect(await arranged.subscribing.noted()).toBe('pass')
    expect(await arranged.subscribing.noted()).toBe('nothing')
  })
})
