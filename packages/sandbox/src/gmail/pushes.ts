import { z } from 'zod'
import type { SigningKeys } from '../signing/keys.ts'
import type { Random } from '../world/random.ts'
import { parseInput } from '../world/invalid-input.ts'
import { postUntilTaken } from '../pushing/post-until-taken.ts'
import { presentId } from './mailbox/history.ts'
import type { Mailbox } from './mailbox/mailbox.ts'

const TOKEN_SECONDS = 3600

/** A push subscription of Pub/Sub: where the notices of a topic go, and who signs them. */
const SubscriptionSchema = z.strictObject({
  topic: z.string().regex(/^projects\/[^/]+\/topics\/[^/]+$/),
  subscription: z.string().regex(/^projects\/[^/]+\/subscriptions\/[^/]+$/),
  endpoint: z.url(),
  serviceAccount: z.email(),
})

const SettingsSchema = z.strictObject({
  subscriptions: z.array(SubscriptionSchema).max(100),
  /** How likely a notice is lost, from 0 to 1. */
  drop: z.number().min(0).max(1),
  /** Number of times that a notice comes. */
  copies: z.int().min(1).max(10),
  /** Milliseconds before a notice is sent. */
  delayMilliseconds: z.int().min(0).max(3_600_000),
  /** Notices of one user that come sooner after the last are left out, as Gmail does. */
  intervalMilliseconds: z.int().min(0).max(60_000),
})

export type PushSettings = z.output<typeof SettingsSchema>

export const DEFAULT_PUSHES: PushSettings = {
  subscriptions: [],
  drop: 0,
  copies: 1,
  delayMilliseconds: 0,
  intervalMilliseconds: 1_000,
}

export interface Watch {
  topic: string
  labelIds: string[]
  excludes: boolean
  /** Milliseconds since 1970, by the sandbox's clock. */
  expiresAt: number
}

/** Watched mailboxes, and the notices that Pub/Sub pushes for them. */
export interface Pushes {
  /** By client, the watch of each mailbox. */
  watchesOf(mailbox: Mailbox): Map<string, Watch>
  hasTopic(topic: string): boolean
  /** Sends a notice to every watch that covers one of these labels. */
  notify(mailbox: Mailbox, labels: ReadonlySet<string>): void
  /** Sends a notice for one watch. */
  send(mailbox: Mailbox, watch: Watch): void
  configure(settings: unknown): PushSettings
  close(): void
}

export function openPushes(keys: SigningKeys, random: Random): Pushes {
  const settings = structuredClone(DEFAULT_PUSHES)
  const watches = new WeakMap<Mailbox, Map<string, Watch>>()
  const lastSent = new WeakMap<Watch, number>()
  const closing = new AbortController()
  const pushes: Pushes = {
    watchesOf(mailbox) {
      const known = watches.get(mailbox) ?? new Map<string, Watch>()
      watches.set(mailbox, known)
      return known
    },
    hasTopic: topic => settings.subscriptions.some(subscription => subscription.topic === topic),
    notify(mailbox, labels) {
      for (const watch of watches.get(mailbox)?.values() ?? [])
        if (watch.expiresAt > mailbox.now() && covers(watch, labels)) pushes.send(mailbox, watch)
    },
    send(mailbox, watch) {
      const now = performance.now()
      if (now - (lastSent.get(watch) ?? -Infinity) < settings.intervalMilliseconds) return
      lastSent.set(watch, now)
      if (random.float() < settings.drop) return
      // The id stands unquoted, above what a JavaScript number holds, as Gmail sends it.
      const data = `{"emailAddress":${JSON.stringify(mailbox.email)},"historyId":${presentId(mailbox.history)}}`
      for (const subscription of settings.subscriptions.filter(({ topic }) => topic === watch.topic)) {
        const messageId = random.digits(17)
        for (let copy = 0; copy < settings.copies; copy += 1)
          void push(keys, subscription, { data, messageId }, settings.delayMilliseconds, closing.signal)
      }
    },
    configure(given) {
      Object.assign(settings, parseInput(SettingsSchema.partial(), given))
      return structuredClone(settings)
    },
    close: () => closing.abort(),
  }
  return pushes
}

function covers({ labelIds, excludes }: Watch, labels: ReadonlySet<string>): boolean {
  if (labelIds.length === 0) return true
  return labelIds.some(label => labels.has(label)) !== excludes
}

type Subscription = z.output<typeof SubscriptionSchema>

/** Posts a notice, as Pub/Sub does. */
async function push(
  keys: SigningKeys,
  { subscription, endpoint, serviceAccount }: Subscription,
  { data, messageId }: { data: string; messageId: string },
  delay: number,
  signal: AbortSignal,
): Promise<void> {
  const publishTime = new Date().toISOString()
  const body = JSON.stringify({
    message: {
      data: Buffer.from(data).toString('base64'),
      messageId,
      message_id: messageId,
      publishTime,
      publish_time: publishTime,
    },
    subscription,
  })
  const makeRequest = async (): Promise<Request> =>
    new Request(endpoint, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${await identityToken(keys, endpoint, serviceAccount)}`,
        from: 'noreply@google.com',
      },
      body,
    })
  await postUntilTaken(makeRequest, delay, signal)
}

/** The token with which Pub/Sub proves a push: signed by Google, for this address, as this service account. */
function identityToken(keys: SigningKeys, endpoint: string, serviceAccount: string): Promise<string> {
  const now = Math.floor(Date.now() / 1000)
  return keys.sign({
    iss: 'https://accounts.google.com',
    aud: endpoint,
    azp: '113774264463038321964',
    sub: '113774264463038321964',
    email: serviceAccount,
    email_verified: true,
    iat: now,
    exp: now + TOKEN_SECONDS,
  })
}
