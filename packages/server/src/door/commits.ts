import { isDeepStrictEqual } from 'node:util'
import type { OperationMeta } from '@waxwing/contract/operation.ts'
import type { Db } from '../database/pool.ts'
import { isUnmet } from '../database/precondition.ts'
import type { Waker } from '../database/wake.ts'
import { inTransaction, type Transact } from '../events/unit-of-work.ts'
import type { AnswerHeaders, ChangeUnit, Commits } from '../calls/context.ts'
import { isUuid } from '../kit/ids.ts'
import type { AuditedCall } from './audited-call.ts'
import type { Claim } from './idempotency.ts'

/** A call whose handler may commit. */
interface CommittingCall {
  db: Db
  tenantId: string
  wake: Waker['wake']
  meta: Pick<OperationMeta, 'method' | 'scope' | 'successStatus' | 'audit' | 'makes'>
  answerHeaders: AnswerHeaders
  /** Null if the call has no idempotency key. */
  claim: Claim | null
  audited: Pick<AuditedCall, 'recordEffect'>
}

/** Creates `change` and `step` for one call. */
export function openCommits(call: CommittingCall): Commits & {
  /** The answer that `change` committed under the claim, as JSON, or null. */
  readonly keptText: string | null
  /** Whether `change` has committed. */
  readonly isChanged: boolean
  /** Throws if the handler broke the rules of `Commits`. Used by tests. */
  requireKept(output: unknown): void
} {
  const { meta, claim, answerHeaders } = call
  let changed: { answer: unknown; keptText: string | null } | null = null
  let isChanging = false
  let isStepped = false

  async function commit<T>(
    work: (unit: ChangeUnit) => Promise<T>,
    {
      transact = inTransaction,
      mayAssume = false,
    }: { transact?: Transact | undefined; mayAssume?: boolean } = {},
  ): Promise<T> {
    const woken = new Map<string, Parameters<Waker['wake']>>()
    const result = await transact(call.db, call.tenantId, unit =>
      work({ ...unit, mayAssume, wake: (...wake) => void woken.set(wake.join(' '), wake) }),
    )
    for (const wake of woken.values()) call.wake(...wake)
    return result
  }

  function requireUnchanged() {
    if (changed || isChanging) throw new Error('Nothing is committed after context.change, nor beside it')
  }

  return {
    async step(work) {
      requireUnchanged()
      isStepped = true
      return commit(work)
    },
    async change(work, { scopes = [], transact, mayAssume = false } = {}) {
      requireUnchanged()
      isChanging = true
      let keptText: string | null = null
      const answering = async (unit: ChangeUnit) => {
        const result = await work(unit)
        if (claim) {
          keptText = JSON.stringify(result)
          await claim.keep(unit.sql, {
            status: meta.successStatus,
            text: keptText,
            headers: answerHeaders,
            aboutAccount: accountIn(meta, result),
            scopes: [...new Set([meta.scope, ...scopes])],
          })
        }
        call.audited.recordEffect(unit, result)
        return result
      }
      try {
        const answer = await commit(answering, { transact, mayAssume }).catch((error: unknown) => {
          if (!mayAssume || !isUnmet(error)) throw error
          return commit(answering, { transact })
        })
        changed = { answer, keptText }
        return answer
      } finally {
        isChanging = false
      }
    },
    get keptText() {
      return changed?.keptText ?? null
    },
    get isChanged() {
      return changed !== null
    },
    requireKept(output) {
      const mustChange = isStepped || (meta.audit !== null && meta.method !== 'GET')
      if (mustChange && !changed) throw new Error('An operation that is audited commits by context.change')
      if (meta.method !== 'POST' || !changed) return
      if (isDeepStrictEqual(asSent(changed.answer), asSent(output))) return
      throw new Error('A POST answers with what its context.change returns')
    },
  }
}

/** The account that an answer is about: the one that the call made, or the one that it names. */
export function accountIn({ makes }: Pick<OperationMeta, 'makes'>, answer: unknown): string | null {
  if (typeof answer !== 'object' || answer === null) return null
  const { id, accountId } = answer as { id?: unknown; accountId?: unknown }
  const named = makes === 'accountId' ? id : accountId
  return typeof named === 'string' && isUuid(named) ? named : null
}

function asSent(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}
