import type { ImapCompileNode } from 'imapflow/lib/handler/types.js'
import type { ImapAttributeList } from './values.ts'

export type CommandArguments = ImapCompileNode[]

/** Called with the number before the name (0 where there is none) and what follows the name. */
export type AnswerHandler = (number: number, values: ImapAttributeList) => void | Promise<void>

export interface Command {
  name: string
  arguments?: CommandArguments
  /** By the name of the untagged answer, upper-cased. */
  answers?: Record<string, AnswerHandler>
  silenceMsMax?: number
}
