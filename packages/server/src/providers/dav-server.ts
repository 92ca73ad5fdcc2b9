/** Where calendars and contacts are, and who logs in there. A half whose URL is null is left out. */
export interface DavServer {
  calendarUrl: string | null
  contactsUrl: string | null
  user: string
}

/** The collections in which a user's calendars and address books are. A half that was left out is null. */
export interface DavHomes {
  calendarUrl: string | null
  contactsUrl: string | null
}
