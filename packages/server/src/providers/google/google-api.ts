import type { Secret } from '../../kit/secret.ts'
import type { AccessTokens } from '../access-tokens.ts'
import { beforeAcceptance, ProviderFailure } from '../failure.ts'
import { readRefusal } from '../http/answers.ts'
import type { OpenAnswer } from '../http/exchange.ts'
import type { ProviderAnswer, ProviderCall, ProviderCalls } from '../http/provider-calls.ts'
import { googleFailure, QuotaRefused } from './failure.ts'
import type { Urgency, UserQuota } from './governor.ts'

export interface GoogleApiOptions {
  calls: ProviderCalls
  tokens: AccessTokens
  quota: UserQuota
  /** Milliseconds since 1970. */
  now: () => number
}

/** Resources of a call, taken before it is made. */
export interface Readied {
  token: Secret
}

interface Readying {
  urgency?: Urgency
  signal?: AbortSignal | undefined
}

/**
 * An API of Google as one user. Every method throws `ProviderFailure`: `throttled` if there is no room in the quota, or the
 * provider answers so. A request that the provider refuses for its token is repeated once with another one, and a request for
 * a scope that the token lacks with the token of a newer grant, if there is one.
 */
export class GoogleApi {
  readonly api: string
  protected readonly quota: UserQuota
  readonly #options: GoogleApiOptions

  /** @param api its name, for people */
  constructor(api: string, options: GoogleApiOptions) {
    this.api = api
    this.quota = options.quota
    this.#options = options
  }

  /** The time by the clock that the options named, in milliseconds since 1970. */
  now(): number {
    return this.#options.now()
  }

  /** Sends a call with a token, within the quota. Resolves only with a success. */
  async call(call: ProviderCall, units: number, urgency: Urgency = 'prompt'): Promise<ProviderAnswer> {
    return this.callReadied(call, await this.ready(units, { urgency, signal: call.signal }))
  }

  /** Takes the resources of a call besides its connection: units of the quota, and a token. */
  async ready(units: number, { urgency = 'prompt', signal }: Readying = {}): Promise<Readied> {
    const { tokens } = this.#options
    await this.quota.take(units, urgency)
    return { token: await beforeAcceptance(() => tokens.get(signal)) }
  }

  /**
   * Like `call`, with the resources that `ready` took before.
   * @param hasOwnQuota whether the call has a quota besides that of the user, so that its refusal concerns no other call
   */
  async callReadied(call: ProviderCall, readied: Readied, hasOwnQuota = false): Promise<ProviderAnswer> {
    const { calls } = this.#options
    const send = async (authorized: ProviderCall) => {
      const answer = await calls.call(authorized)
      return { status: answer.status, answer, refusal: () => Promise.resolve(answer) }
    }
    return this.#authorized(call, readied, send, hasOwnQuota)
  }

  /** Sends a call that needs no token, such as one to an upload session, and returns any answer. */
  send(call: ProviderCall): Promise<ProviderAnswer> {
    return this.#options.calls.call(call)
  }

  /** Like `send`, for content that is read as it comes. */
  openPublic(call: ProviderCall): Promise<OpenAnswer> {
    return this.#options.calls.open(call)
  }

  /** Like `call`, for content that is read as it comes. */
  async open(call: ProviderCall, units: number, urgency: Urgency = 'prompt'): Promise<OpenAnswer> {
    const { calls } = this.#options
    const readied = await this.ready(units, { urgency, signal: call.signal })
    return this.#authorized(call, readied, async authorized => {
      const answer = await calls.open(authorized)
      return { status: answer.status, answer, refusal: () => readRefusal(answer) }
    })
  }

  async #authorized<A>(
    call: ProviderCall,
    { token }: Readied,
    send: (call: ProviderCall) => Promise<{
      status: number
      answer: A
      refusal: () => Promise<ProviderAnswer>
    }>,
    hasOwnQuota = false,
  ): Promise<A> {
    const { tokens } = this.#options
    const authorized = (secret: Secret) => ({
      ...call,
      headers: { ...call.headers, authorization: `Bearer ${secret.reveal()}` },
    })
    let used = token
    let sent = await send(authorized(used))
    if (sent.status === 401 && isSentAgain(call)) {
      await sent.refusal()
      used = await beforeAcceptance(() => tokens.renew(token, call.signal))
      sent = await send(authorized(used))
    }
    if (sent.status >= 200 && sent.status <= 299) return sent.answer
    if (sent.status === 401) {
      await sent.refusal()
      throw new ProviderFailure('access_refused', `${this.api} refuses the access token.`)
    }
    const isWrite = call.method !== 'GET'
    const failure = googleFailure(this.api, await sent.refusal(), { now: this.now(), isWrite })
    if (failure.kind === 'scope_missing' && isSentAgain(call)) {
      const newer = await beforeAcceptance(async () => tokens.findNewer?.(used, call.signal))
      if (newer) return this.#authorized(call, { token: newer }, send, hasOwnQuota)
    }
    throw hasOwnQuota ? failure : this.pausedFor(failure)
  }

  /** Holds up all calls while a quota is spent. @returns the failure with the seconds until then */
  pausedFor(failure: ProviderFailure): ProviderFailure {
    if (!(failure instanceof QuotaRefused)) return failure
    return new ProviderFailure('throttled', failure.message, {
      retryAfterSeconds: this.quota.refused(failure.retryAfterSeconds, failure.owner),
    })
  }
}

/** A stream can be sent only once. */
function isSentAgain({ body }: ProviderCall): boolean {
  return body === undefined || typeof body === 'string' || body instanceof Uint8Array
}
