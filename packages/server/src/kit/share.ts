/** Returns this process's part of a limit that all processes of the installation keep together; at least 1. */
export type Share = (limit: number) => number

/** The part of a process that is alone. */
export const whole: Share = limit => limit

/** The processes of the installation, as they are now. */
export interface Sharing {
  /** How many there are, this one included. */
  readonly count: number
  /** The share of this process in what those with this role need most. */
  shareFor(role: string): Share
  /** Calls the listener whenever the share has changed. */
  onChange(listener: () => void): void
}
