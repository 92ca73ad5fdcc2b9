import type { ChangeEvent, EventData } from './types.ts'

/** An event of a type that this version knows. */
export type EventOf<T extends keyof EventData> = Omit<ChangeEvent, 'type' | 'data'> & {
  type: T
  data: EventData[T]
}

/** An event of any type; `isEvent` tells which. New types may come. */
export type AnyEvent = ChangeEvent

/**
 * Whether an event is of this type and has its data; the type of `data` is then known. The events of an account that was
 * purged have lost theirs, and are skipped so.
 */
export function isEvent<T extends keyof EventData>(
  event: { type: string; data: object },
  type: T,
): event is EventOf<T> {
  return event.type === type && Object.keys(event.data).length > 0
}
