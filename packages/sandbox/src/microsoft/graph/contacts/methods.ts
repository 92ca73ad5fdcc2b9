import type { GraphMethod } from '../method.ts'
import { contactDeltaMethods } from './delta.ts'
import { contactReadMethods } from './reading.ts'
import { contactWriteMethods } from './writing.ts'

/** Every method of contacts and their folders. */
export const contactMethods: readonly GraphMethod[] = [
  ...contactReadMethods,
  ...contactDeltaMethods,
  ...contactWriteMethods,
]
