import { createHmac } from 'node:crypto'
import { type Transaction, sql } from 'kysely'
import type { Db } from '../database/pool.ts'
import type { Tables } from '../database/tables.ts'
import type { AnswerHeaders, Attempt } from '../calls/context.ts'
import { refuse } from '../calls/refuse.ts'
import { newId } from '../kit/ids.ts'
import type { Logger } from '../kit/log.ts'
import { seal, unseal } from '../kit/seal.ts'
import type { StoredTimes } from '../jobs/stored-times.ts'

/** Hours for which a first answer is kept. */
const KEPT_HOURS = 24
/** A process that has not renewed for this many seconds is taken for dead, and its requests may be repeated. */
const LEASE_SECONDS = 15
const RENEW_SECONDS = 5
/** Maximum size of a kept answer. A draft with two long texts takes up to 13 MB as JSON. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024
/** Attempts to read a record that was found taken and then vanished. */
const LOOKS_MAX = 5

/** A request with an idempotency key. Its sender is authenticated and may send it. */
export interface KeyedRequest {
  tenantId: string
  key: string
  /** The hash of everything that must be equal when the key is sent again. */
  fingerprint: Buffer
  /** The scopes that a caller needs to get the answer. */
  scopes: readonly string[]
  accountId: string | null
}

export interface GivenAnswer {
  status: number
  /** The body as it was sent. */
  text: string
  headers: AnswerHeaders
  /** The account that the answer is about; null if it is that of the path, or none. */
  aboutAccount: string | null
}

export interface KeptAnswer extends Omit<GivenAnswer, 'aboutAccount'> {
  scopes: readonly string[]
  accountId: string | null
}

/** The right to run a request under its key, as the first process or in place of one that died. */
export interface Claim {
  attempt: Attempt
  /**
   * Keeps the answer in the transaction of its effect, so that they are committed together. Refuses, which rolls back
   * the effect, if another process has taken over the request. `scopes` are what a caller needs to get the answer.
   */
  keep(tx: Transaction<Tables>, answer: GivenAnswer & { scopes: readonly string[] }): Promise<void>
  /**
   * Ends the request. After a failure (5xx) or a refusal for its rate (429) the request may be sent again, and is then
   * the same attempt: an earlier call of it may have had an effect. Any other answer is kept. Null means that `keep` has
   * kept the answer and its transaction was committed.
   */
  end(answer: GivenAnswer | null): Promise<void>
}

export interface IdempotencyKeys {
  /**
   * Begins a request, or returns the answer to the first one. Refuses a key that was used for another request, or whose
   * request is in progress.
   */
  begin(request: KeyedRequest): Promise<{ claim: Claim } | { answer: KeptAnswer }>
}

/** Keeps answers in the database. They are sealed, since they can hold secrets that are shown only once. */
export function createIdempotencyKeys(options: { db: Db; answerKey: Buffer; log: Logger }): IdempotencyKeys {
  const { db, answerKey, log } = options
  const running = startRenewing(db, log)
  const keyOf = (tenantId: string) => createHmac('sha256', answerKey).update(tenantId).digest()
  const contextOf = ({ tenantId, key }: KeyedRequest) => [tenantId, 'idempotency_key', 'answer', key]

  /** Returns false if the request was taken over or already has an answer. */
  async function store(
    on: Db,
    { request, id }: Running,
    { scopes = request.scopes, ...answer }: GivenAnswer & { scopes?: readonly string[] },
  ) {
    const bytes = Buffer.from(writeAnswer(answer))
    if (bytes.length > ANSWER_BYTES_MAX) throw new Error(`An answer of ${bytes.length} bytes cannot be kept`)
    const { numUpdatedRows } = await on
      .updateTable('idempotency_key')
      .set({
        status: answer.status,
        answer: seal(keyOf(request.tenantId), bytes, contextOf(request)),
        scope: scopes.join(' '),
        about_account: answer.aboutAccount,
        expires_at: keptUntil(),
      })
      .where('tenant_id', '=', request.tenantId)
      .where('key', '=', request.key)
      .where('claim', '=', id)
      .where('status', 'is', null)
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }

  function claimOf(request: KeyedRequest, id: string, attempt: Attempt): Claim {
    const run = { request, id }
    running.add(run)
    return {
      attempt,
      async keep(tx, answer) {
        if (!(await store(tx, run, answer))) refuseRunning()
      },
      async end(answer) {
        try {
          if (answer === null) return
          // If `keep` has kept an answer and its transaction succeeded, neither finds anything to do.
          if (answer.status === 429 || answer.status >= 500) await release(db, run)
          else await store(db, run, answer)
        } catch (error) {
          // The caller still gets its answer. The lease ends, and a repetition runs again.
          log.warn({ error }, 'Could not keep the answer of an Idempotency-Key')
        } finally {
          running.delete(run)
        }
      },
    }
  }

  async function begin(request: KeyedRequest): Promise<{ claim: Claim } | { answer: KeptAnswer }> {
    const id = newId()
    for (let look = 0; look < LOOKS_MAX; look += 1) {
      const attempt = await take(db, request, id)
      if (attempt) return { claim: claimOf(request, id, attempt) }
      const row = await db
        .selectFrom('idempotency_key')
        .select(['fingerprint', 'scope', 'account_id', 'status', 'answer', 'has_failed'])
        .where('tenant_id', '=', request.tenantId)
        .where('key', '=', request.key)
        .executeTakeFirst()
      // The first request was forgotten in between.
      if (!row) continue
      if (row.has_failed) continue
      if (!row.fingerprint.equals(request.fingerprint)) refuse('idempotency_key_reused')
      if (row.status === null || row.answer === null) return refuseRunning()
      const { text, headers } = readAnswer(
        unseal(keyOf(request.tenantId), row.answer, contextOf(request)).toString(),
      )
      const { status, account_id: accountId } = row
      return { answer: { status, text, headers, scopes: row.scope.split(' '), accountId } }
    }
    return refuseRunning()
  }
  return { begin }
}

/** Marks kept answers that begin with a line of headers as JSON. No body begins with it, since bodies are JSON too. */
const HEADERS_MARK = '\u0001'

function writeAnswer({ text, headers }: Pick<GivenAnswer, 'text' | 'headers'>): string {
  return Object.keys(headers).length === 0 ? text : `${HEADERS_MARK}${JSON.stringify(headers)}\n${text}`
}

function readAnswer(kept: string): { text: string; headers: AnswerHeaders } {
  if (!kept.startsWith(HEADERS_MARK)) return { text: kept, headers: {} }
  const end = kept.indexOf('\n')
  // Written by `writeAnswer` and sealed since.
  const headers = JSON.parse(kept.slice(HEADERS_MARK.length, end)) as AnswerHeaders
  return { text: kept.slice(end + 1), headers }
}

/**
 * Takes a key that is new, has expired, was held by a process that died, or whose request failed. The same request is
 * the same attempt then; after a failure another request may have the key, too.
 */
async function take(db: Db, request: KeyedRequest, id: string): Promise<Attempt | null> {
  const { rows } = await sql<{ attempt: string }>`
    insert into idempotency_key as known
      (tenant_id, key, fingerprint, scope, account_id, claim, attempt, locked_until, expires_at)
    values (${request.tenantId}, ${request.key}, ${request.fingerprint}, ${request.scopes.join(' ')}, ${request.accountId},
      ${id}, ${id}, ${lockedUntil()}, ${keptUntil()})
    on conflict (tenant_id, key) do update set
      fingerprint = excluded.fingerprint, scope = excluded.scope, account_id = excluded.account_id,
      claim = excluded.claim, locked_until = excluded.locked_until, status = null, answer = null, has_failed = false,
      attempt = case when known.status is null and known.expires_at >= clock_timestamp()
        and known.fingerprint = excluded.fingerprint then known.attempt else excluded.attempt end,
      expires_at = excluded.expires_at
    where (known.expires_at < clock_timestamp()
        or known.status is null and (known.has_failed or known.fingerprint = excluded.fingerprint))
      and (known.status is not null or known.locked_until < clock_timestamp())
    returning attempt
  `.execute(db)
  const [row] = rows
  return row ? { id: row.attempt, isResumed: row.attempt !== id } : null
}

/** Lets the request be sent again. Another one may take its key, too. */
async function release(db: Db, { request, id }: Running): Promise<void> {
  await sql`
    update idempotency_key set has_failed = true, locked_until = '-infinity', expires_at = ${keptUntil()}
    where tenant_id = ${request.tenantId} and key = ${request.key} and claim = ${id} and status is null
  `.execute(db)
}

interface Running {
  request: KeyedRequest
  id: string
}

/** Renews the leases of the requests that run in this process, while there are any. */
function startRenewing(db: Db, log: Logger) {
  const running = new Set<Running>()
  let timer: NodeJS.Timeout | null = null

  async function renew() {
    const all = [...running]
    // A locked row is about to be written by its own request. Nobody can take it over meanwhile.
    await sql`
      update idempotency_key set locked_until = ${lockedUntil()}
      where (tenant_id, key) in (
        select tenant_id, key from idempotency_key
        join unnest(
          ${all.map(({ request }) => request.tenantId)}::uuid[],
          ${all.map(({ request }) => request.key)}::text[],
          ${all.map(({ id }) => id)}::uuid[]
        ) as mine (tenant_id, key, claim) using (tenant_id, key, claim)
        where status is null for update of idempotency_key skip locked
      )
    `.execute(db)
  }

  return {
    add(run: Running) {
      running.add(run)
      timer ??= setInterval(() => {
        renew().catch((error: unknown) => log.warn({ error }, 'Could not renew an Idempotency-Key'))
      }, RENEW_SECONDS * 1000).unref()
    },
    delete(run: Running) {
      running.delete(run)
      if (running.size > 0 || timer === null) return
      clearInterval(timer)
      timer = null
    },
  }
}

function refuseRunning(): never {
  return refuse('idempotency_key_in_progress', undefined, { retryAfterSeconds: 1 })
}

/** A time that was set while the clock of the database was ahead is later than any that is set. */
export const ANSWER_TIMES: StoredTimes = {
  table: 'idempotency_key',
  waits: { locked_until: { seconds: LEASE_SECONDS }, expires_at: { seconds: KEPT_HOURS * 3_600 } },
}

const lockedUntil = () => sql<Date>`clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})`
const keptUntil = () => sql<Date>`clock_timestamp() + make_interval(hours => ${KEPT_HOURS})`

const SWEEP_BATCH_ROWS = 2000

/** Deletes expired answers and what dead processes left, but never a request in progress. */
export async function deleteExpiredAnswers(db: Db, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { numAffectedRows = 0n } = await sql`
      delete from idempotency_key where (tenant_id, key) in (
        select tenant_id, key from idempotency_key
        where expires_at < clock_timestamp() and (status is not null or locked_until < clock_timestamp())
        limit ${SWEEP_BATCH_ROWS} for update skip locked
      )
    `.execute(db)
    if (numAffectedRows < SWEEP_BATCH_ROWS) return
  }
}

/** Deletes the kept answers that are about an account. Reads all those of its tenant, which last for a day. */
export async function purgeAnswers(db: Db, accountId: string, signal: AbortSignal): Promise<void> {
  let after: string | null = ''
  while (after !== null && !signal.aborted) {
    const { rows }: { rows: Array<{ last_key: string | null }> } = await sql<{ last_key: string | null }>`
      with page as (
        select tenant_id, key, account_id, about_account from idempotency_key
        where tenant_id = (select tenant_id from account where id = ${accountId}) and key > ${after}
        order by key limit ${SWEEP_BATCH_ROWS}
      ), purged as (
        delete from idempotency_key as kept using page
        where kept.tenant_id = page.tenant_id and kept.key = page.key
          and (page.account_id = ${accountId} or page.about_account = ${accountId})
      )
      select max(key) as last_key from page
    `.execute(db)
    after = rows[0]?.last_key ?? null
  }
}
