import type { ImapCompileNode } from 'imapflow/lib/handler/types.js'
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
}
