// Package together starts several processes of the program in one data folder.
package together
