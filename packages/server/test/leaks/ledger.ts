import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as sleep } from 'node:timers/promises'

export type Kind =
  | 'advisory lock'
  | 'child process'
  | 'database session'
  | 'listening socket'
  | 'temporary folder'
  | 'timer'

/** Something that a test opened, which must be closed when it ends. */
export interface Opened {
  kind: Kind
  name: string
  isOpen(): boolean
  /** The stack of the code that opened it. */
  stack: string
}

/** A test, or null for its file: what is opened before all tests, or by what was opened there. */
export type Owner = object | null

const LOOK_MILLISECONDS = 10
/** Entries of closed things are dropped from time to time, so that a file with many keeps little. */
const LOOK_EVERY = 10_000

/** Frames of Node.js, and of the watching itself. */
const OF_NOBODY = /\(?node:|\/test\/leaks\/(?:watch|ledger)/

const owners = new AsyncLocalStorage<Owner>()
const ledger = new Map<Opened, Owner>()

/** The test on whose behalf the caller runs. */
export function currentOwner(): Owner {
  return owners.getStore() ?? null
}

export function runAs<Result>(owner: Owner, run: () => Result): Result {
  return owners.run(owner, run)
}

/** Notes that the current test opened something. */
export function note(kind: Kind, nameOf: () => string, isOpen: () => boolean): void {
  const holder = { stack: '' }
  Error.captureStackTrace(holder, note)
  // The text of a stack is made when it is read first.
  const opened: Opened = {
    kind,
    isOpen,
    get name() {
      return nameOf()
    },
    get stack() {
      return holder.stack
    },
  }
  ledger.set(opened, currentOwner())
  if (ledger.size % LOOK_EVERY === 0)
    for (const each of ledger.keys()) if (!each.isOpen()) ledger.delete(each)
}

/**
 * Waits until everything of some owners is closed, and returns what is not. It is noted no longer.
 * @param listed kinds that are known to stay open, for which nobody waits
 */
export async function findLeft(
  isOf: (owner: Owner) => boolean,
  secondsMax: number,
  listed: readonly Kind[] = [],
): Promise<Opened[]> {
  const until = performance.now() + secondsMax * 1000
  for (;;) {
    const left: Opened[] = []
    for (const [opened, owner] of ledger) {
      if (!isOf(owner)) continue
      if (opened.isOpen() && isOurs(opened)) left.push(opened)
      else ledger.delete(opened)
    }
    if (left.length === 0) return []
    if (left.every(({ kind }) => listed.includes(kind)) || performance.now() > until) {
      for (const each of left) ledger.delete(each)
      return left
    }
    await sleep(LOOK_MILLISECONDS)
  }
}

/** The frames of a stack from the code that opened something on. */
export function framesOf(stack: string): string[] {
  return stack.split('\n').filter(line => /^ +at /.test(line) && !OF_NOBODY.test(line))
}

/** Whether code of this repository opened it. Packages keep timers of their own for later. */
function isOurs({ kind, stack }: Opened): boolean {
  return kind !== 'timer' || !(framesOf(stack)[0] ?? '/node_modules/').includes('/node_modules/')
}
