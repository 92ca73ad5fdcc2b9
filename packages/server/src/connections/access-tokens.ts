import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../database/pool.ts'
import type { AccountKeys, TokenSealing } from '../accounts/secrets.ts'
import type { OAuthClients } from '../accounts/apps/clients.ts'
import { recordDelegateLost, recordRefused } from '../accounts/grants/record-refused.ts'
import { LEFT_SECONDS_MIN, planPause } from '../accounts/grants/rules.ts'
import {
  type Refresh,
  type StoredGrant,
  findGrant,
  leaseRefresh,
  pauseRefresh,
  saveRefresh,
} from '../accounts/grants/store.ts'
import { SealError } from '../kit/seal.ts'
import type { Secret } from '../kit/secret.ts'
import { WeakValues } from '../kit/weak-values.ts'
import type { AccessTokens } from '../providers/access-tokens.ts'
import { type FailureKind, ProviderFailure, restate } from '../providers/failure.ts'
import type { SignIn, SignInClient, SignIns, Tokens } from '../providers/sign-in.ts'
import { delegatedTokens } from './delegated-tokens.ts'
import type { ReachedAccount } from '../accounts/reach.ts'

/** How long callers wait for a refresh by another process. */
const WAIT_SECONDS = 5
const LOOK_MILLISECONDS = 100
/** Shorter than the lease of a refresh. */
const CALL_SECONDS = 25
/** While the database fails, what the provider gave is stored again for this time, with these pauses. */
const SAVE_SECONDS = 30
const SAVE_PAUSE_MILLISECONDS = 250
/** A refused grant is asked about again after this time before it is believed. */
const CONFIRM_SECONDS = 3
/** The database is asked at least this often whether the token is still the one to use. */
const MEMORY_SECONDS = 60
/** A token that still works while its refresh fails is held for this time. */
const FALLBACK_SECONDS = 5
/** A token that is refused so soon after it was issued is not replaced. */
const JUST_ISSUED_SECONDS = 10

export interface AccessTokenOptions {
  db: Db
  accountKeys: AccountKeys
  clients: Pick<OAuthClients, 'find'>
  signIns: SignIns
  confirmSeconds?: number
  waitSeconds?: number
  callSeconds?: number
  saveSeconds?: number
}

/** An account that tokens are wanted for. */
export interface TokenAccount extends Pick<ReachedAccount, 'id' | 'tenantId'> {
  /** The account whose grant opens it, of a shared mailbox. With it, both share what this process holds in memory. */
  delegateAccountId?: string | null
}

export type TokensOf = (account: TokenAccount) => AccessTokens

/** Opens the stored access tokens of accounts. All that use one grant share one object. */
export function accessTokens(options: AccessTokenOptions): TokensOf {
  const opened = new WeakValues<StoredTokens>()
  const open = (id: string, tenantId: string) =>
    opened.getOrMake(id, () => new StoredTokens(options, { id, tenantId }))
  return ({ id, tenantId, delegateAccountId = null }) => {
    const tokens = open(delegateAccountId ?? id, tenantId)
    if (delegateAccountId === null) return tokens
    return delegatedTokens(tokens, () => recordDelegateLost(options.db, { id, tenantId }))
  }
}

/**
 * The tokens of one grant as they are stored for all processes. A reader that finds the access token due to be
 * replaced takes a lease in the database and asks the provider, so that each refresh is one call of all processes.
 */
class StoredTokens implements AccessTokens {
  readonly #options: AccessTokenOptions
  readonly #account: Pick<ReachedAccount, 'id' | 'tenantId'>
  #held: { token: Secret; until: number } | null = null
  #search: Promise<Secret> | null = null

  constructor(options: AccessTokenOptions, account: Pick<ReachedAccount, 'id' | 'tenantId'>) {
    this.#options = options
    this.#account = account
  }

  async get(signal?: AbortSignal): Promise<Secret> {
    if (this.#held && performance.now() < this.#held.until) return this.#held.token
    return unlessGone(signal, this.#searchOnce(null))
  }

  async renew(refused: Secret, signal?: AbortSignal): Promise<Secret> {
    if (this.#held && isSame(this.#held.token, refused)) this.#held = null
    const token = await this.get(signal)
    if (!isSame(token, refused)) return token
    this.#held = null
    return unlessGone(signal, this.#searchOnce(refused))
  }

  async findNewer(held: Secret, signal?: AbortSignal): Promise<Secret | null> {
    if (this.#held && isSame(this.#held.token, held)) this.#held = null
    const token = await this.get(signal)
    return isSame(token, held) ? null : token
  }

  /** All callers share one search. It goes on if one of them is gone. */
  #searchOnce(refused: Secret | null): Promise<Secret> {
    this.#search ??= this.#find(refused)
      .catch(blameAccount)
      .finally(() => {
        this.#search = null
      })
    return this.#search
  }

  async #find(refused: Secret | null): Promise<Secret> {
    const { db, waitSeconds = WAIT_SECONDS } = this.#options
    const by = randomUUID()
    const waitUntil = performance.now() + waitSeconds * 1_000
    for (;;) {
      const grant = await this.#requireGrant()
      const stored = this.#open(grant).open(grant.access_token, 'access_token')
      const isRefused = refused !== null && isSame(stored, refused)
      if (!isRefused && grant.fresh_seconds > 0)
        return this.#hold(stored, Math.min(grant.fresh_seconds, MEMORY_SECONDS))
      const fallback = !isRefused && grant.good_seconds > LEFT_SECONDS_MIN ? stored : null
      if (isRefused && grant.age_seconds < JUST_ISSUED_SECONDS)
        throw failed('access_refused', 'The provider refuses the access token that it just issued.')
      if (grant.pause_seconds !== null && grant.pause_seconds > 0)
        return fallback ? this.#hold(fallback, FALLBACK_SECONDS) : failAgain(grant, grant.pause_seconds)
      if (await leaseRefresh(db, { grant, by })) {
        const token = await this.#refresh({ grant, by }, grant, fallback)
        if (token) return token
        // The new state of the grant decides, however long that took.
        continue
      }
      if (fallback) return this.#hold(fallback, FALLBACK_SECONDS)
      if (performance.now() > waitUntil)
        throw failed('unavailable', 'The access token is being renewed by another process.', WAIT_SECONDS)
      await sleep(LOOK_MILLISECONDS)
    }
  }

  async #requireGrant(): Promise<StoredGrant> {
    const { db } = this.#options
    const grant = await findGrant(db, this.#account)
    if (!grant) {
      const loss = await recordDelegateLost(db, this.#account)
      if (loss === 'not_shared') throw failed('account_deleted', 'The account was deleted.')
      throw loss === 'lost' ? failed('grant_refused', MESSAGES.grant_refused) : justChanged()
    }
    if (!grant.is_refused) return grant
    // The account may have been paused when that was found out.
    if (!(await recordRefused(db, this.#account, grant))) throw justChanged()
    throw failed('grant_refused', MESSAGES.grant_refused)
  }

  /** Asks the provider, and stores what it gives before any of it is used. Null: the grant has changed meanwhile. */
  async #refresh(refresh: Refresh, grant: StoredGrant, fallback: Secret | null): Promise<Secret | null> {
    const { db } = this.#options
    try {
      const tokens = await this.#ask(refresh, grant)
      const isSaved = tokens && (await this.#save(refresh, grant, tokens))
      return isSaved ? this.#hold(tokens.accessToken, 1) : null
    } catch (error) {
      const failure =
        error instanceof ProviderFailure
          ? restate(error, { isBeforeAcceptance: true })
          : failed('unavailable', MESSAGES.unavailable)
      if (failure.kind === 'grant_refused') {
        if (!(await recordRefused(db, this.#account, grant))) return null
      } else {
        const pauseSeconds = planPause(grant.failures + 1, failure.retryAfterSeconds)
        const { kind, reason } = failure
        // Without it the lease ends by itself, and the failure is thrown all the same.
        await pauseRefresh(db, refresh, { kind, reason, pauseSeconds }).catch(() => {})
        if (fallback) return this.#hold(fallback, FALLBACK_SECONDS)
      }
      throw error instanceof ProviderFailure ? failure : error
    }
  }

  /** Tries again while the database fails: the refresh token that was used may be worth nothing any more. */
  async #save(refresh: Refresh, grant: StoredGrant, tokens: Tokens): Promise<boolean> {
    const sealing = this.#open(grant)
    const { db, saveSeconds = SAVE_SECONDS } = this.#options
    const until = performance.now() + saveSeconds * 1_000
    for (;;) {
      try {
        return await saveRefresh(db, sealing, refresh, tokens)
      } catch (error) {
        if (performance.now() > until) throw error
        await sleep(SAVE_PAUSE_MILLISECONDS)
      }
    }
  }

  /**
   * A refusal is believed when the provider repeats it after a pause, and refuses the token before this one too: the
   * answer that brought this one may have been lost on its way, or be too new for some of the provider's servers.
   */
  async #ask(refresh: Refresh, grant: StoredGrant): Promise<Tokens | null> {
    const { db, confirmSeconds = CONFIRM_SECONDS, callSeconds = CALL_SECONDS } = this.#options
    const { client, signIn } = await this.#clientOf(grant)
    const { scopes } = grant
    const tryToken = (token: Secret) => tryRefresh(signIn, { client, token, scopes }, callSeconds)
    const sealing = this.#open(grant)
    const current = sealing.open(grant.refresh_token, 'refresh_token')
    const first = await tryToken(current)
    if ('tokens' in first) return first.tokens
    await sleep(confirmSeconds * 1_000)
    if (!(await leaseRefresh(db, refresh))) return null
    const second = await tryToken(current)
    if ('tokens' in second) return second.tokens
    if (!grant.previous_refresh_token) throw second.refusal
    if (!(await leaseRefresh(db, refresh))) return null
    const previous = sealing.open(grant.previous_refresh_token, 'refresh_token')
    const third = await tryToken(previous)
    if ('refusal' in third) throw third.refusal
    return { ...third.tokens, refreshToken: third.tokens.refreshToken ?? previous }
  }

  async #clientOf(grant: StoredGrant): Promise<{ client: SignInClient; signIn: SignIn }> {
    const { db, clients, signIns } = this.#options
    const { oauth_app_id: appId, cloud } = grant.account
    const place = { provider: grant.provider, cloud }
    const client = await clients.find(db, this.#account.tenantId, { ...place, appId })
    const signIn = signIns.at(place)
    if (client === 'oauth_app_secret_unreadable')
      throw new ProviderFailure('misconfigured', 'The secret of the OAuth app cannot be read.', {
        reason: client,
      })
    // Only the app to which it was granted can refresh a grant.
    if (client === 'provider_not_configured' || client.clientId !== grant.client_id || !signIn)
      throw new ProviderFailure(
        'misconfigured',
        'The OAuth app that the account was connected with is missing.',
        { reason: 'provider_not_configured' },
      )
    return { client, signIn }
  }

  #open(grant: StoredGrant): TokenSealing {
    return this.#options.accountKeys.tokenSealing(grant.account, grant.id)
  }

  #hold(token: Secret, seconds: number): Secret {
    this.#held = { token, until: performance.now() + seconds * 1_000 }
    return token
  }
}

async function tryRefresh(
  signIn: SignIn,
  { client, token, scopes }: { client: SignInClient; token: Secret; scopes: readonly string[] },
  seconds: number,
): Promise<{ tokens: Tokens } | { refusal: ProviderFailure }> {
  try {
    return { tokens: await signIn.refresh(client, token, scopes, AbortSignal.timeout(seconds * 1_000)) }
  } catch (error) {
    if (error instanceof ProviderFailure && error.kind === 'grant_refused') return { refusal: error }
    throw error
  }
}

const MESSAGES = {
  grant_refused: 'The provider no longer accepts the grant.',
  misconfigured: 'The OAuth app of the account cannot be used.',
  mailbox_gone: 'The provider has closed the mailbox to the OAuth app.',
  throttled: 'The provider limits requests for tokens.',
  unavailable: 'The access token could not be renewed.',
} satisfies Partial<Record<FailureKind, string>>

/** Fails as the last refresh did, without asking the provider again so soon. */
function failAgain({ failure, failure_reason: reason }: StoredGrant, pauseSeconds: number): never {
  const kind = failure ?? 'unavailable'
  const messages: Readonly<Partial<Record<FailureKind, string>>> = MESSAGES
  throw new ProviderFailure(kind, messages[kind] ?? MESSAGES.unavailable, {
    retryAfterSeconds: Math.ceil(pauseSeconds),
    isBeforeAcceptance: true,
    ...(reason && { reason }),
  })
}

function justChanged(): ProviderFailure {
  return failed('unavailable', 'The grant was renewed a moment ago.')
}

/** Nothing was asked of the provider on behalf of the caller yet. */
function failed(kind: FailureKind, message: string, retryAfterSeconds?: number): ProviderFailure {
  return new ProviderFailure(kind, message, {
    isBeforeAcceptance: true,
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  })
}

function blameAccount(error: unknown): never {
  if (error instanceof SealError)
    throw new ProviderFailure('misconfigured', 'The stored tokens cannot be read.', { cause: error })
  throw error
}

function isSame(one: Secret, other: Secret): boolean {
  return one.reveal() === other.reveal()
}

function unlessGone<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (!signal) return work
  const { promise, reject } = Promise.withResolvers<never>()
  const leave = () => reject(failed('unavailable', 'It was given up.'))
  if (signal.aborted) leave()
  signal.addEventListener('abort', leave, { once: true })
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', leave))
}
