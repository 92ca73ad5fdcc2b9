import { z } from 'zod'
import type { Db } from '../../../database/pool.ts'
import type { Waker } from '../../../database/wake.ts'
import type { Logger } from '../../../kit/log.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import type { PushTokens } from '../../../providers/push-tokens.ts'
import type { Push, PushOutcome, PushReceiver } from '../../../kit/push-receiver.ts'
import { judgeSigner, type PushTerms, recordNotice } from './store.ts'

const PATH = '/push/gmail'
const BODY_BYTES_MAX = 16 * 1024

/** A push of Pub/Sub (cloud.google.com/pubsub/docs/push). */
const envelopeSchema = z.object({
  message: z.object({ data: z.string().default('') }),
  subscription: z.string().max(1_000),
})
/** A notice that Gmail publishes. Its history id is not read, since it may be lost or come late. */
const noticeSchema = z.object({ emailAddress: z.string().max(320) })

export interface GmailPushOptions {
  db: Db
  waker: Waker
  log: Logger
  pushTokens: PushTokens
  operators: PushTerms | null
  /** The address of the service. */
  baseUrl(): string
}

/** Takes notices of Gmail that Google signed for this address, as the service account of the app that they are for. */
export function gmailPushReceiver(options: GmailPushOptions): PushReceiver {
  const receiving = { ...options, warned: new Set<string>() }
  return {
    path: PATH,
    bodyBytesMax: BODY_BYTES_MAX,
    needsAuthorization: true,
    takenStatus: 204,
    async receive(push) {
      try {
        return await receive(receiving, push)
      } catch (error) {
        if (!(error instanceof ProviderFailure)) throw error
        options.log.warn({ error }, 'A push of Gmail could not be checked')
        return 'unavailable'
      }
    },
  }
}

interface Receiving extends GmailPushOptions {
  /** Subscriptions with pushes by an unknown signer that were already logged. */
  warned: Set<string>
}

async function receive(receiving: Receiving, { header, body }: Push): Promise<PushOutcome> {
  const { db, waker, log, pushTokens, operators, baseUrl } = receiving
  const [, token] = /^Bearer +(\S+)$/i.exec(header('authorization') ?? '') ?? []
  const envelope = envelopeSchema.safeParse(parse(body))
  if (token === undefined || !envelope.success) return 'forged'
  const signer = await pushTokens.signerOf(token, `${baseUrl()}${PATH}`)
  if (signer === null) return 'forged'
  const serviceAccount = signer.toLowerCase()
  const { subscription, message } = envelope.data
  // Anybody can have Google sign pushes to this address, as a service account of their own.
  const judgement = await judgeSigner(db, { subscription, serviceAccount }, operators)
  if (judgement === 'another_signer') warnOnce(receiving, subscription)
  if (judgement !== 'believed') return 'forged'
  const notice = noticeSchema.safeParse(parse(Buffer.from(message.data, 'base64').toString()))
  if (!notice.success) {
    log.warn({}, 'A push of Gmail names no mailbox')
    return 'taken'
  }
  const { emailAddress: email } = notice.data
  const ids = await recordNotice(db, { subscription, serviceAccount, email }, operators)
  // Only the owner of the account is woken: changes are announced when they are recorded.
  for (const id of ids) waker.wake(id, 'waxwing_notice')
  return 'taken'
}

/** Most likely the app names another service account than the subscription does. */
function warnOnce({ log, warned }: Receiving, subscription: string): void {
  if (warned.has(subscription)) return
  warned.add(subscription)
  log.warn(
    { names: [subscription] },
    'Pushes of a known subscription are signed by another service account than its app names',
  )
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
