/** A process that asks for access tokens on command, and prints them. */
import { createHash } from 'node:crypto'
import { openDatabase } from '../../src/database/pool.ts'
import type { SignIn } from '../../src/providers/sign-in.ts'
import { tokenWorld } from './granted-account.ts'

export interface CallingProcessOptions {
  address: Parameters<typeof openDatabase>[0]['address']
  secretKey: string
  origin: string
  account: { id: string; tenantId: string }
  callers: number
  /** Dies as if by kill -9 when the provider has answered, before anything is stored. */
  diesAfterAnswer?: boolean
}

const options = JSON.parse(process.argv[2] ?? '') as CallingProcessOptions
const { db } = openDatabase({ address: options.address, applicationName: 'waxwing test' })
const { tokensOf, signIn } = tokenWorld(db, options.secretKey, options.origin)

const dying: SignIn = {
  ...signIn,
  async refresh(...given) {
    const tokens = await signIn.refresh(...given)
    process.kill(process.pid, 'SIGKILL')
    return tokens
  },
}

/** Five callers share what holds a token in memory, as those of one connection do. */
const holders = Array.from({ length: Math.ceil(options.callers / 5) }, () =>
  tokensOf(options.account, options.diesAfterAnswer ? { signIn: dying } : {}),
)

process.stdout.write('ready\n')
process.stdin.once('data', () => void call())

async function call(): Promise<void> {
  const tokens = await Promise.all(
    Array.from({ length: options.callers }, (_, index) => holders[index % holders.length]?.get()),
  )
  const digests = tokens.map(token =>
    createHash('sha256')
      .update(token?.reveal() ?? '')
      .digest('hex'),
  )
  process.stdout.write(`${JSON.stringify(digests)}\n`, () => process.exit())
}
