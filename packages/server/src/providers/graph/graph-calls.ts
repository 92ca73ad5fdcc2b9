import { randomUUID } from 'node:crypto'
import type { Secret } from '../../kit/secret.ts'
import type { AccessTokens } from '../access-tokens.ts'
import { beforeAcceptance, ProviderFailure, restate } from '../failure.ts'
import { readRefusal } from '../http/answers.ts'
import type { OpenAnswer } from '../http/exchange.ts'
import type { ProviderAnswer, ProviderCall, ProviderCalls } from '../http/provider-calls.ts'
import type { CloudRow } from '../microsoft/clouds.ts'
import { type AskOptions, type GraphRequest, segment, type Urgency, writeQuery } from './api.ts'
import { graphFailure } from './failure.ts'
import type { MailboxQuota } from './governor.ts'

export const ROOT_PATH = '/v1.0/'
/** Ids that stay the same while a message moves (learn.microsoft.com/graph/outlook-immutable-id). */
const IMMUTABLE_IDS = 'IdType="ImmutableId"'

export interface GraphClientOptions {
  calls: ProviderCalls
  tokens: AccessTokens
  quota: MailboxQuota
  cloud: CloudRow
  /** The id or address of the mailbox. */
  mailboxId: string
  /** Milliseconds since 1970. */
  now: () => number
}

/** A call whose answer is still to be judged. */
type Opened = { status: number; refusal(): Promise<ProviderAnswer> }

/** The calls of one mailbox: how they are addressed, authorized and refused. */
export class GraphCalls {
  readonly options: GraphClientOptions

  constructor(options: GraphClientOptions) {
    this.options = options
  }

  /** Sends a call with a token and reads the whole answer, of any status. */
  async whole(call: ProviderCall, options: AskOptions): Promise<ProviderAnswer> {
    const { calls } = this.options
    return this.#authorized(call, options, async authorized => {
      const answer = await calls.call(authorized)
      return { ...answer, refusal: () => Promise.resolve(answer) }
    })
  }

  /** Like `whole`, for content that is read as it comes. Resolves only with a success. */
  async open(call: ProviderCall, options: AskOptions): Promise<OpenAnswer> {
    const { calls } = this.options
    const answer = await this.#authorized(call, options, async authorized => {
      const opened = await calls.open(authorized)
      return Object.assign(opened, { refusal: () => readRefusal(opened) })
    })
    if (answer.status !== 200) throw this.failureOf(await answer.refusal(), false)
    return answer
  }

  /**
   * Sends a call with a token, and once more with another one if Graph refuses the first, or if the user has granted more
   * since it was issued: another process may have stored that a moment ago.
   */
  async #authorized<A extends Opened>(
    call: ProviderCall,
    { signal, beforeEffect }: AskOptions,
    send: (call: ProviderCall) => Promise<A>,
  ): Promise<A> {
    const { tokens } = this.options
    const authorized = (secret: Secret) => ({
      ...call,
      headers: { ...call.headers, authorization: `Bearer ${secret.reveal()}` },
    })
    let token = await beforeAcceptance(() => tokens.get(signal))
    await beforeEffect?.()
    let sent = await send(authorized(token))
    if (sent.status === 401) {
      await sent.refusal()
      const refused = token
      token = await beforeAcceptance(() => tokens.renew(refused, signal))
      sent = await send(authorized(token))
    }
    if (sent.status === 401) {
      await sent.refusal()
      throw new ProviderFailure('access_refused', 'Microsoft Graph refuses the access token.')
    }
    const newer = sent.status === 403 ? await this.findNewer(token, signal) : null
    if (!newer) return sent
    await sent.refusal()
    return send(authorized(newer))
  }

  /** The token that calls have now. */
  token(signal: AbortSignal | undefined): Promise<Secret> {
    return beforeAcceptance(() => this.options.tokens.get(signal))
  }

  /** The token of a grant that the user has given since this one was read from it; null if there is none. */
  async findNewer(held: Secret, signal: AbortSignal | undefined): Promise<Secret | null> {
    const { tokens } = this.options
    return (await beforeAcceptance(async () => tokens.findNewer?.(held, signal))) ?? null
  }

  /**
   * Takes room for calls in the quota, and waits for the right to one request under way.
   * @param slot the urgency among the requests under way, if it is another one
   */
  async enter(
    calls: number,
    { urgency = 'prompt', signal }: AskOptions,
    slot: Urgency = urgency,
  ): Promise<Disposable> {
    const { quota } = this.options
    await quota.take(calls, urgency)
    return quota.enter(slot, signal)
  }

  /** The failure for an answer. Holds up all calls if a limit is reached. */
  failureOf(answer: ProviderAnswer, mayHaveEffect: boolean): ProviderFailure {
    const failure = graphFailure(answer, this.options.now(), mayHaveEffect)
    if (failure.kind !== 'throttled') return failure
    return restate(failure, {
      retryAfterSeconds: this.options.quota.refused(failure.retryAfterSeconds),
    })
  }

  /** The path of a resource of the mailbox. */
  pathOf({ path, query }: Pick<GraphRequest<unknown>, 'path' | 'query'>): string {
    return `${ROOT_PATH}users/${segment(this.options.mailboxId)}/${path}${writeQuery(query)}`
  }

  callOf(
    path: string,
    request: Pick<
      GraphRequest<unknown>,
      'method' | 'json' | 'body' | 'prefer' | 'ifMatch' | 'answerBytesMax'
    >,
    { signal }: AskOptions,
  ): ProviderCall {
    const { method = 'GET', json, body, answerBytesMax } = request
    const content = json === undefined ? body?.bytes : JSON.stringify(json)
    const type = json === undefined ? body?.type : 'application/json'
    return {
      host: this.options.cloud.graph,
      method,
      path,
      signal,
      headers: { ...headersOf(request), ...(type !== undefined && { 'content-type': type }) },
      ...(content !== undefined && { body: content }),
      ...(answerBytesMax !== undefined && { answerBytesMax }),
    }
  }
}

export function headersOf({
  prefer = [],
  ifMatch,
}: Pick<GraphRequest<unknown>, 'prefer' | 'ifMatch'>): Record<string, string> {
  return {
    prefer: [IMMUTABLE_IDS, ...prefer].join(', '),
    'client-request-id': randomUUID(),
    ...(ifMatch !== undefined && { 'if-match': ifMatch }),
  }
}

export function isWrite({ method = 'GET' }: GraphRequest<unknown>): boolean {
  return method !== 'GET'
}
