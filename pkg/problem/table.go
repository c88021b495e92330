package problem

var table = []Code{}
