import { openRoutes } from '../../google/api/routes.ts'
import { draftMethods } from './drafts.ts'
import { historyMethods } from './history.ts'
import { labelMethods } from './labels.ts'
import { messageArrivalMethods } from './message-arrivals.ts'
import { messageChangeMethods } from './message-changes.ts'
import { messageMethods } from './messages.ts'
import type { GmailMethod } from './method.ts'
import { profileMethods } from './profile.ts'
import { sendAsMethods } from './send-as.ts'
import { threadMethods } from './threads.ts'
import { watchMethods } from './watch.ts'

/** Every method that this Gmail has. */
export const METHODS: readonly GmailMethod[] = [
  ...profileMethods,
  ...labelMethods,
  ...messageMethods,
  ...messageChangeMethods,
  ...messageArrivalMethods,
  ...threadMethods,
  ...historyMethods,
  ...draftMethods,
  ...sendAsMethods,
  ...watchMethods,
]

/** The method of a path below /users/{userId}/, or null. */
export const findMethod = openRoutes(METHODS)
