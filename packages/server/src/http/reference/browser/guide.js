import { colourAll } from './json.js'
import { followLocation } from './location.js'

colourAll(document)
followLocation()
