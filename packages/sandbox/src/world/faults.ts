import { type Call, pathPattern } from './calls.ts'
import type { Random } from './random.ts'

export const FAULT_KINDS = [
  /** 429, with `Retry-After` if `retryAfterSeconds` is given. */
  'rate_limit',
  /** 403 for quota. */
  'quota',
  /** 401 for a token that is good. */
  'unauthorized',
  /** `status`, by default 503. */
  'error',
  /** The call takes effect; the body ends in its middle. */
  'torn',
  /** The answer comes after `milliseconds`. */
  'slow',
  /** No answer ever, and no effect. */
  'hang',
  /** The call takes effect, and the connection ends without an answer. */
  'lost',
] as const

export type FaultKind = (typeof FAULT_KINDS)[number]

export interface FaultRule {
  does: FaultKind
  /** Host of a provider; without it, each. */
  host?: string
  method?: string
  /** Path in which `*` stands for any text. */
  path?: string
  /** How likely the fault strikes a call that fits, from 0 to 1; by default 1. */
  probability?: number
  /** Number of calls to strike; without it, no end. */
  count?: number
  status?: number
  retryAfterSeconds?: number
  milliseconds?: number
}

export interface Fault extends FaultRule {
  readonly id: number
  /** Number of calls that it struck. */
  struck: number
}

export interface Faults {
  add(rule: FaultRule): Fault
  list(): Fault[]
  /** Returns whether there was one with this id. */
  remove(id: number): boolean
  clear(): void
  /** The first fault that strikes this call, which counts. */
  strike(call: Pick<Call, 'host' | 'method' | 'path'>, kinds?: readonly FaultKind[]): Fault | null
}

export function openFaults(random: Random): Faults {
  let faults: Fault[] = []
  const patterns = new WeakMap<Fault, RegExp>()
  let lastId = 0
  return {
    add(rule) {
      const fault = { ...rule, id: ++lastId, struck: 0 }
      if (rule.path !== undefined) patterns.set(fault, pathPattern(rule.path))
      faults.push(fault)
      return fault
    },
    list: () => [...faults],
    remove(id) {
      const before = faults.length
      faults = faults.filter(fault => fault.id !== id)
      return faults.length < before
    },
    clear: () => void (faults = []),
    strike(call, kinds) {
      const struck = faults.find(
        fault =>
          (kinds?.includes(fault.does) ?? true) &&
          (fault.count === undefined || fault.struck < fault.count) &&
          (fault.host === undefined || fault.host === call.host) &&
          (fault.method === undefined || fault.method === call.method) &&
          (patterns.get(fault)?.test(call.path) ?? true) &&
          (fault.probability === undefined || random.float() < fault.probability),
      )
      if (struck) struck.struck++
      return struck ?? null
    },
  }
}
