/* Reasons for which a change is not written into a file. Nothing of it is written then. */

/** A value that cannot be written so that it is read as it was given. */
export class UnwritableEvents extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options)
    this.name = 'UnwritableEvents'
  }
}

/** A field or a change that a calendar file cannot hold. */
export class UnheldChange extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'UnheldChange'
  }
}

/** A member that the series does not have. */
export class MissingMember extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'MissingMember'
  }
}
