/** A process that asks for access tokens on command, and prints what became of each call. */
import { createHash } from 'node:crypto'
import { openDatabase } from '../../src/database/pool.ts'
import type { SignIn } from '../../src/providers/sign-in.ts'
import type { TokenAccount } from '../../src/connections/access-tokens.ts'
import { ProviderFailure } from '../../src/providers/failure.ts'
import { tokenWorld } from './granted-account.ts'

export interface CallingProcessOptions {
  address: Parameters<typeof openDatabase>[0]['address']
  secretKey: string
  origin: string
  account: { id: string; tenantId: string }
  /** Shared mailboxes that are opened with its grant, for which callers ask in turn. */
  shared?: readonly TokenAccount[]
  callers: number
  /** Dies as if by kill -9 when the provider has answered, before anything is stored. */
  diesAfterAnswer?: boolean
}

const options = JSON.parse(process.argv[2] ?? '') as CallingProcessOptions
const { db } = openDatabase({ address: options.address, applicationName: 'waxwing test' })
const { tokensOf, openTokens, signIn } = tokenWorld(db, options.secretKey, options.origin)

const dying: SignIn = {
  ...signIn,
  async refresh(...given) {
    const tokens = await signIn.refresh(...given)
    process.kill(process.pid, 'SIGKILL')
    return tokens
  },
}

/** Five callers share what holds a token in memory, as those of one connection do. */
const holders = options.shared
  ? [options.account, ...options.shared].map(openTokens())
  : Array.from({ length: Math.ceil(options.callers / 5) }, () =>
      tokensOf(options.account, options.diesAfterAnswer ? { signIn: dying } : {}),
    )

process.stdout.write('ready\n')
process.stdin.once('data', () => void call())

/** Prints the digest of the token of each caller, or the kind of its failure. */
async function call(): Promise<void> {
  const calls = Array.from({ length: options.callers }, (_, index) => holders[index % holders.length]?.get())
  const results = (await Promise.allSettled(calls)).map(result => {
    if (result.status === 'fulfilled')
      return createHash('sha256')
        .update(result.value?.reveal() ?? '')
        .digest('hex')
    if (result.reason instanceof ProviderFailure) return result.reason.kind
    throw result.reason
  })
  process.stdout.write(`${JSON.stringify(results)}\n`, () => process.exit())
}
