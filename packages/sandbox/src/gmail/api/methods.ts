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

export interface Match {
  method: GmailMethod
  params: Record<string, string>
}

/** Methods by verb and number of segments; fixed segments come before parameters. */
const ROUTES = Map.groupBy(
  METHODS.map(method => ({ method, segments: method.path.split('/') })).toSorted(
    (a, b) => parameters(a.segments) - parameters(b.segments),
  ),
  ({ method, segments }) => `${method.http} ${segments.length}`,
)

function parameters(segments: string[]): number {
  return segments.filter(segment => segment.startsWith('{')).length
}

/** The method of a path below /users/{userId}/, or null. */
export function findMethod(http: string, path: string): Match | null {
  const given = path.split('/').map(segment => decodeSegment(segment))
  for (const { method, segments } of ROUTES.get(`${http} ${given.length}`) ?? []) {
    const params: Record<string, string> = {}
    const fits = segments.every((segment, at) => {
      const value = given[at] as string
      if (!segment.startsWith('{')) return segment === value
      params[segment.slice(1, -1)] = value
      return value !== ''
    })
    if (fits) return { method, params }
  }
  return null
}

export function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
