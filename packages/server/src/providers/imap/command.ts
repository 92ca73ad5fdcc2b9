import type { ImapCompileNode, ImapResponse } from 'imapflow/lib/handler/types.js'
import type { ImapAttributeList } from './values.ts'

export type CommandArguments = ImapCompileNode[]

/** Called with the number before the name (0 if there is none) and the values after the name. */
export type AnswerHandler = (number: number, values: ImapAttributeList) => void | Promise<void>

export interface Command {
  name: string
  arguments?: CommandArguments
  /** Handlers by the name of the untagged answer, in upper case. */
  answers?: Record<string, AnswerHandler>
  silenceMsMax?: number
  /** A literal that ends the command. It is sent once the server requests it. */
  literal?: LiteralContent
}

export interface LiteralContent {
  byteLength: number
  open(): AsyncIterable<Uint8Array>
}

/** A connection over which commands run, one at a time. */
export interface CommandConnection {
  readonly isClosed: boolean
  /** Number of answers so far that were too long to be read. */
  readonly leftOut: number
  has(capability: string): boolean
  /** Runs one command to its end. Throws `ProviderFailure`. */
  run(command: Command): Promise<ImapResponse>
}
